package main

// words are the screen's words in one language. Names, keys, codes, states and
// paths are never translated; errors are English.
type words struct {
	Watches, Idle, Complete                      string // heading of status
	State, Task, Stage, Agent, Try, For, Reason  string // columns
	NeedsYou, HeldBy, Failed, See, ReadOnlyNames string
	NoTasks                                      string
	Is, Because, In, Archive, NotThere, Last     string // explain
	Next, YouCan, Rule                           string
	Drained, Stopped, Attempts, Tokens           string // end of a run
	Blocked, Waiting, Held, Elsewhere, Running   string
	Resume, WaitsFor                             string
}

func wordsIn(language string) words {
	if language == "ko" {
		return korean()
	}
	return english()
}

func english() words {
	return words{
		Watches: "drover watches (pid %d, since %s)", Idle: "no drover runs", Complete: "%d of %d complete",
		State: "STATE", Task: "TASK", Stage: "STAGE", Agent: "AGENT", Try: "TRY", For: "FOR", Reason: "REASON",
		NeedsYou: "needs you", HeldBy: "held by", Failed: "%d of %d failed", See: "(see: validate)",
		NoTasks: "no tasks",
		Is:      "%s is %s", Because: "because", In: "in", Archive: "in the archive", NotThere: "not there",
		Last: "last %s, ended %s after %s, exit %d, class %s",
		Next: "next", YouCan: "you can", Rule: "rule",
		Drained: "ended after %s", Attempts: "%d attempts", Tokens: "%s tokens",
		Blocked: "blocked", Waiting: "waiting", Held: "held", Elsewhere: "run by another drover", Running: "running",
		Resume: "resume", WaitsFor: "for",
	}
}

func korean() words {
	return words{
		Watches: "drover 감시 중 (pid %d, %s부터)", Idle: "실행 중인 drover 없음", Complete: "%[2]d개 중 %[1]d개 완료",
		State: "상태", Task: "작업", Stage: "단계", Agent: "에이전트", Try: "시도", For: "경과", Reason: "이유",
		NeedsYou: "확인 필요", HeldBy: "사용 중:", Failed: "%[2]d회 중 %[1]d회 실패", See: "(참고: validate)",
		NoTasks: "작업 없음",
		Is:      "%s: %s", Because: "이유", In: "위치", Archive: "보관소", NotThere: "없음",
		Last: "마지막 %s, 종료 %s, 소요 %s, exit %d, class %s",
		Next: "다음", YouCan: "할 수 있는 일", Rule: "규칙",
		Drained: "%s 만에 종료", Attempts: "시도 %d회", Tokens: "토큰 %s",
		Blocked: "차단", Waiting: "대기", Held: "보류", Elsewhere: "다른 drover가 실행 중", Running: "실행 중",
		Resume: "재개", WaitsFor: "대상",
	}
}
