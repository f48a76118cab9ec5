// Package spec holds the words and values that every part of drover shares.
//
// It is pure: no I/O, no clock, no log, nothing of ours imported.
//
// # The one arrow
//
//	files → Tree → Dialect.Parse → Graph (+ World) → Decide → Decision → effects → files
//
// Files are the desired state. What agents did, the runs, is the observed
// state. A pass compares the two for each unit and asks for the next effects;
// the arrow closes only through the disk. Explain and dry runs are the same
// arrow stopped before the effects.
//
// # Glossary
//
//	workspace   the trusted git work tree that drover stands in
//	dialect     one way to write tasks as files: agent-task, issues, milestones, plans
//	branch      a part of a dialect's tree whose units are listed together (a task group)
//	unit        what one pass reconciles: a task folder, a MASTER, a milestone, a plan
//	task        what a person wants done and can name on the command line
//	step        one agent run's worth of work within a task
//	role        what a step is for: worker, selfcheck, review, split, …
//	stage       the step a task stands at, with its state and reason
//	generation  task, plan number and tag; a new one starts its steps afresh
//	attempt     one run of one step
//	run         everything the run directory of an attempt shows
//	locator     the file of a run directory that tells where all else is
//	shim        the small process that outlives drover and owns one agent
//	route       agent program, model, effort and limits
//	ladder      the routes that a step may be promoted along
//	wave        tasks that may run beside each other, before the next wave
//	gate        a point that waits for a person
//	verdict     what a review says: PASS, WARN, FAIL
//	blocker     why a task cannot go on by itself
//	fold        taking an ended attempt into the record, once
//	record      what drover remembers of one generation of a task
//	memory      all records and groups; the content of state.json
//	problem     a file that cannot be understood: file, line, rule
package spec
