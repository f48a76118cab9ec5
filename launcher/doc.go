// Package launcher owns attempts: it claims them, starts their shims, observes
// what became of them, and sweeps what a dead shim left.
//
// An attempt is a run directory (package rundir). Its name is the claim:
//
//	.new-XXXX   locator.json and prompt.txt written, alive locked, all fsynced
//	   ↓        renameat2(NOREPLACE), fsync of runs/            = claimed
//	<attempt>   the locked descriptor goes to the shim           = starting
//	            shim.json, the agent's pid in the locator        = running
//	            result.json, exit.json, the shim exits           = ended
//
// drover may be killed between any two of these lines. What it left is told
// apart by four facts (the boot, the lock, the files, the processes) and one
// table, meaning; there is no other state and no guess.
//
// A drover that stays keeps one spare shim: a process that has loaded and waits
// at a socket. It gets the lock inside a message, which holds it on the way as a
// process does, and is an ordinary shim from there on.
//
// The lock is taken before the claim and handed on inside one open file, so
// there is no instant at which a claimed attempt looks free while somebody is
// about to run it.
package launcher
