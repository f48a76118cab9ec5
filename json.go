package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// writeJSON writes one document and a line feed. Paths and names are written
// as they are, not escaped for HTML.
func writeJSON(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// verbDoc is the document of every verb but status and wait:
// {"version":1,"<verb>":…}.
func verbDoc(verb string, fields any) any { return verbDocument{verb, fields} }

type verbDocument struct {
	verb   string
	fields any
}

// MarshalJSON puts the version first, where people look for it.
func (d verbDocument) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"version":1,` + strconv.Quote(d.verb) + `:`)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d.fields); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// errorDoc is the document of an error.
func errorDoc(e *exitError) any {
	type body struct {
		Code    string   `json:"code"`
		Message string   `json:"message"`
		Near    []string `json:"near"`
		Argv    []string `json:"argv"`
	}
	return struct {
		Version int  `json:"version"`
		Error   body `json:"error"`
	}{1, body{e.code, e.message, orEmpty(e.near), orEmpty(e.argv)}}
}

// orEmpty makes arrays that are never null.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
