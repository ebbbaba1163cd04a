package table

import (
	"encoding/json"
	"io"
)

// WriteJSON writes one document, indented.
func WriteJSON[T any](w io.Writer, v T) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
