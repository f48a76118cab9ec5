package markdown

// The headings that documents of all dialects share, in Korean and English
// alike (DIALECTS 0). The first is the Korean one, the second the English one.
func Titles(section string) []string {
	switch section {
	case "checklist":
		return []string{"구현 체크리스트", "Implementation checklist"}
	case "deviations":
		return []string{"계획 대비 변경 사항", "Deviations from the plan"}
	case "decisions":
		return []string{"주요 설계 결정", "Design decisions"}
	case "results":
		return []string{"검증 결과", "Verification results"}
	case "completed":
		return []string{"구현 항목 완료", "Completed items"}
	case "verification":
		return []string{"검증", "Verification"}
	case "files":
		return []string{"수정 파일 요약", "Changed files"}
	case "review":
		return []string{"코드리뷰 결과", "Code review result"}
	case "verdict":
		return []string{"종합 판정", "Verdict"}
	case "goal":
		return []string{"목표", "Goal"}
	case "tasks":
		return []string{"단계별 작업", "Tasks"}
	case "history":
		return []string{"변경이력", "Change history"}
	case "units":
		return []string{"단위 목록", "Units"}
	case "waves":
		return []string{"의존성·wave 정렬", "Waves"}
	}
	return nil
}

// TitleIn is the heading of a section in a language.
func TitleIn(section, language string) string {
	t := Titles(section)
	switch {
	case len(t) < 2:
		return section
	case language == "en":
		return t[1]
	}
	return t[0]
}
