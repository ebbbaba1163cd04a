package record

import (
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
)

// gathering lets processes that run at once begin together and end together. A process says when it is ready and when it is
// done, and each time goes on when all did; one that ends is not waited for.
type gathering struct {
	n      int
	lock   sync.Mutex
	stages [2]stage // ready, done
}

// stage is what all processes have to come to.
type stage struct {
	reached   int
	wait, all *os.File // a pipe, whose end for writing is closed when all did
}

func newGathering(n int) (*gathering, error) {
	g := &gathering{n: n}
	for i := range g.stages {
		var err error
		if g.stages[i].wait, g.stages[i].all, err = os.Pipe(); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *gathering) close() {
	for i := range g.stages {
		if s := &g.stages[i]; s.wait != nil {
			_ = s.wait.Close()
			_ = s.all.Close() // closed already where all came so far
		}
	}
}

// reached notes that a process came to a stage.
func (g *gathering) reached(stage int) {
	g.lock.Lock()
	defer g.lock.Unlock()
	s := &g.stages[stage]
	if s.reached++; s.reached == g.n {
		_ = s.all.Close()
	}
}

// run runs a command to its end, as one of the processes.
func (g *gathering) run(c *exec.Cmd) error {
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	c.ExtraFiles = []*os.File{tell, g.stages[0].wait, g.stages[1].wait} // from descriptor 3 on
	busy := 0
	if g.n <= goruntime.NumCPU() { // else it would take the processor from those that are not done
		busy = 1
	}
	c.Env = append(c.Env, fmt.Sprintf("COPPICE_REPLAY_TOGETHER=3,4,5,%d", busy))
	err = c.Start()
	_ = tell.Close()
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		b := make([]byte, 1)
		for i := range g.stages {
			_, _ = told.Read(b) // the end of the file where the process ended
			g.reached(i)
		}
	}()
	if err == nil {
		err = c.Wait()
	}
	_ = told.Close() // a process that this one started may hold the other end
	<-listened
	return err
}
