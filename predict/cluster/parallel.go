package cluster

import (
	"sync"
	"sync/atomic"
)

// parallel calls f for 0 to n-1, on at most so many goroutines at once, which are numbered from 0.
func parallel(workers, n int, f func(worker, i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(w, i)
			}
		})
	}
	done.Wait()
}
