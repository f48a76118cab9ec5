package main

import (
	"fmt"
	"strings"

	"drover/spec"
)

// reasonNote explains one reason code.
type reasonNote struct {
	code  spec.Code
	means string
	frees string // what makes the task go on
	rule  string // where the rule stands
}

// reasonNotes are the codes that this drover gives, in the order of a task's
// life. help reasons prints them; explain names the rule.
func reasonNotes() []reasonNote {
	return []reasonNote{
		{spec.PredecessorIncomplete, "a predecessor has no complete.log yet", "the predecessor's completion", "seed 003, dependencies"},
		{spec.PredecessorBlocked, "a predecessor is blocked", "whatever frees the predecessor; see explain on it", "seed 003, dependencies"},
		{spec.PredecessorAmbiguous, "a predecessor has two or more completions", "remove or rename all but one", "seed 003, dependencies"},
		{spec.UnknownPredecessor, "no task of the group has the predecessor's number", "create it, or rename this folder", "seed 003, dependencies"},
		{spec.Cycle, "tasks wait for each other in a ring", "rename one of the folders it names", "seed 003, dependencies"},
		{spec.LimitFull, "all slots of its route are taken", "the end of an attempt on that route", "seed 003, concurrency"},
		{spec.Gate, "a decision is wanted", "drover approve or drover reject", "COMMANDS 1"},
		{spec.Held, "somebody asked that it rests", "drover release", "DIALECTS 0"},
		{spec.Unfilled, "the document is empty or its placeholders are untouched", "fill it in", "COMMANDS 1"},
		{spec.ContractError, "a document breaks its grammar", "mend the named line; saving is the retry", "seed 003, state contract"},
		{spec.DuplicateID, "two documents claim one name", "rename one of them", "DIALECTS 0"},
		{spec.Vanished, "the task's folder is gone and no new completion explains it", "bring the folder back, or drover forget", "seed 003, baseline"},
		{spec.ArchiveAmbiguous, "several new archives could be its completion", "keep one of them", "seed 003, baseline"},
		{spec.UserReview, "USER_REVIEW.md asks for a decision", "decide, write it into the milestone, remove USER_REVIEW.md", "seed 003, user review"},
		{spec.FailureBudget, "a step failed as often in a row as it may", "mend the cause, then drover retry", "seed 003, failure budget"},
		{spec.RoundsLimit, "it was reviewed and reworked as often as it may", "look at the findings, then drover retry", "DIALECTS 1.7"},
		{spec.ReviewNoProgress, "ten reviews in a row changed nothing", "look at the findings, then drover retry", "seed 003, no progress"},
		{spec.SelfcheckIncomplete, "ten selfchecks in a row left fields empty", "fill the CODE_REVIEW, then drover retry", "seed 003, selfcheck"},
		{spec.QuotaWait, "the provider said when its quota comes back", "that time", "DIALECTS 0, promotion"},
		{spec.BackoffWait, "the next attempt waits a little after a failure", "the end of the wait", "DESIGN 9"},
		{spec.RouteStopped, "the agent program refuses its login or settings", "log in or mend the settings, then drover retry", "DESIGN 9"},
		{spec.CLIMissing, "the agent program is not on PATH", "install it, or set agents.NAME.path in drover.yaml", "COMMANDS 4"},
		{spec.Lost, "an attempt ended and nobody could record how", "the next attempt", "DESIGN 6"},
		{spec.LeftoverProcess, "a process of an old attempt lives and may not be signalled", "end it by hand", "DESIGN 4"},
		{spec.StatusNotEditable, "the document's status cannot be changed without harm", "write it as one plain line", "DESIGN 7"},
		{spec.InfraWait, "the machine lacks something (disk, memory, processes)", "it is tried again by itself", "DESIGN 9"},
		{spec.WorkLogSetup, "WORK_LOG.md cannot be written", "make it writable, then drover retry", "seed 003, work log"},
		{spec.WorkLogRuntimeWrite, "a row of WORK_LOG.md could not be written", "make it writable, then drover retry", "seed 003, work log"},
		{spec.OwnedByOther, "another drover runs it", "the end of that attempt", "seed 003, life cycle"},
	}
}

// ruleOf is where the rule of a reason stands, "" for a reason of a dialect
// that is not there yet.
func ruleOf(code spec.Code) string {
	for _, n := range reasonNotes() {
		if n.code == code {
			return n.rule + "; drover help reasons"
		}
	}
	return ""
}

// reasonsTopic is the help topic on reasons.
func reasonsTopic() string {
	var b strings.Builder
	b.WriteString("Why a task does not go on, and what frees it:\n")
	for _, n := range reasonNotes() {
		fmt.Fprintf(&b, "\n  %s\n      %s\n      goes on with: %s\n      rule: %s\n", n.code, n.means, n.frees, n.rule)
	}
	return b.String()
}
