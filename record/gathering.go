package record

import (
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
)

// gathering is a barrier for processes that are replayed at once: they start their computation together and end together. Each process
// reports that it is ready, and later that it is done. It waits each time until all have reported. A process that has ended counts as
// having reported.
type gathering struct {
	n      int
	lock   sync.Mutex
	stages [2]stage // ready, done
}

// stage is one of the two barriers.
type stage struct {
	reached   int
	wait, all *os.File // a pipe: wait ends when all was closed, by the last process that reported
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
			_ = s.all.Close() // closed already if all processes reported
		}
	}
}

// reached counts a process that has reached a stage, and lets all go on when it is the last.
func (g *gathering) reached(stage int) {
	g.lock.Lock()
	defer g.lock.Unlock()
	s := &g.stages[stage]
	if s.reached++; s.reached == g.n {
		_ = s.all.Close()
	}
}

// run starts a command as one of the processes and waits until it ends. The process gets three descriptors: to report, and to wait for each
// stage.
func (g *gathering) run(c *exec.Cmd) error {
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	c.ExtraFiles = []*os.File{tell, g.stages[0].wait, g.stages[1].wait} // from descriptor 3 on
	busy := 0
	if g.n <= goruntime.NumCPU() { // else a process that waits by spinning would delay those that are not done
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
			_, _ = told.Read(b) // a byte, or the end of the file if the process has ended
			g.reached(i)
		}
	}()
	if err == nil {
		err = c.Wait()
	}
	_ = told.Close() // lets Read return even if a child of the process still holds the other end
	<-listened
	return err
}
