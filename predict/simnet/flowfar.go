package simnet

func (w *worker) sendFar(c *channel, arrival, data int64, cost uint32, request bool) {}
func (w *worker) answerFar(c *channel, posted int64)                                 {}
func (w *worker) creditFar(c *channel)                                               {}
