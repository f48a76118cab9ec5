package markdown

// The headings that documents of all dialects share, in Korean and English
// alike (DIALECTS 0). The first is the Korean one, the second the English one.
func Titles(section string) []string {
	for _, t := range [...][]string{
		{"checklist", "구현 체크리스트", "Implementation checklist"},
		{"deviations", "계획 대비 변경 사항", "Deviations from the plan"},
		{"decisions", "주요 설계 결정", "Design decisions"},
		{"results", "검증 결과", "Verification results"},
		{"completed", "구현 항목 완료", "Completed items"},
		{"verification", "검증", "Verification"},
		{"files", "수정 파일 요약", "Changed files"},
		{"review", "코드리뷰 결과", "Code review result"},
		{"verdict", "종합 판정", "Verdict"},
		{"goal", "목표", "Goal"},
		{"tasks", "단계별 작업", "Tasks"},
		{"history", "변경이력", "Change history"},
		{"units", "단위 목록", "Units"},
		{"waves", "의존성·wave 정렬", "Waves"},
	} {
		if t[0] == section {
			return t[1:]
		}
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
