package waits_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/waits"
)

// A receive from tick 10 to 135 whose message is sent at 100 waits for a late sender until then.
func ExampleReceive_LateSender() {
	r := waits.Receive{Ready: 10, Leave: 135, Sent: 100}
	fmt.Println(r.LateSender())
	// Output: 10 100
}

// A send from tick 10 to 90 whose receive is posted at 60 waits for a late receiver. Had it ended before, it was buffered.
func ExampleSend_LateReceiver() {
	fmt.Println((&waits.Send{Enter: 10, Leave: 90, Post: 60}).LateReceiver())
	fmt.Println((&waits.Send{Enter: 10, Leave: 20, Post: 60}).LateReceiver())
	// Output:
	// 10 60
	// 10 10
}
