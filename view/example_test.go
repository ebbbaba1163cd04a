package view_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/view"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A server of one run answers what it shows.
func ExampleNew() {
	run, done := jobtest.Opened(program)
	defer done()
	s, err := view.New([]*results.Run{run}, view.Options{Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest("GET", "http://localhost/api/at?loc=0&t=50", nil)
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var at view.At
	if err := json.Unmarshal(w.Body.Bytes(), &at); err != nil {
		log.Fatal(err)
	}
	for _, c := range at.Stack {
		fmt.Println(c.Name, c.Begin, c.End)
	}
	// Output:
	// solve 10 60
	// main 0 100
}
