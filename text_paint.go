package main

import "drover/spec"

// Painter colours words where colour is wanted. Colour never says anything
// that the word does not.
type Painter bool

// State colours a state's word.
func (p Painter) State(s spec.State, word string) string {
	switch s {
	case spec.StateRunning:
		return p.wrap("34", word)
	case spec.StateReady, spec.StateComplete:
		return p.wrap("32", word)
	case spec.StateBlocked:
		return p.wrap("31", word)
	case spec.StateHeld:
		return p.wrap("33", word)
	}
	return word
}

// Problem colours the word of a row that is a problem.
func (p Painter) Problem(word string) string { return p.wrap("31", word) }

func (p Painter) wrap(code, word string) string {
	if !p {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}
