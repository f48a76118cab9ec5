// Package reconcile is the loop: it compares what the files ask for with what
// agents have done, and asks for the next effects.
//
//	hints, ended attempts, timers, requests
//	        │ which units to look at
//	        ▼
//	Snapshot → Parse → Decide → Admit → apply ─┐
//	   ▲                                       │
//	   └──────────── the disk ◄────────────────┘
//
// Guarantees:
//
//   - Level based: a pass depends on what is there, never on which event woke
//     it. A lost event costs at most one rescan.
//   - Decide and Admit are pure. Once their own actions are seen they ask for
//     nothing.
//   - All ready work starts in the same pass, within the limits; what waits
//     says for what.
//   - A pass may die at any instruction. Its barriers are, in order: run
//     directories, work-log rows, starts, events, state.json, removal of what
//     has served.
//   - A blocked task stops itself and what needs it, nothing else.
package reconcile
