package mpi

import (
	"fmt"
	"testing"
)

func BenchmarkInProcess(b *testing.B) {
	ops := []struct {
		name  string
		bytes int64
		run   func(Comm) error
	}{
		{"barrier", 0, func(c Comm) error { return c.Barrier() }},
		{"allreduce", 8, func(c Comm) error { return c.AllreduceInt64([]int64{1}, Sum) }},
		{"allgather", 64, func(c Comm) error { _, err := c.Allgather(make([]byte, 64)); return err }},
		{"tree", 1 << 10, func(c Comm) error {
			_, err := TreeReduce(c, make([]byte, 1<<10), nil, func(b []byte) ([]byte, error) { return b, nil },
				func(b []byte) ([]byte, error) { return b, nil }, func(a, _ []byte) ([]byte, error) { return a, nil })
			return err
		}},
	}
	for _, n := range []int{2, 64, 4096} {
		for _, op := range ops {
			b.Run(fmt.Sprintf("%s/ranks=%d", op.name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(op.bytes * int64(n))
				err := RunInProcess(n, func(c Comm) error {
					for range b.N {
						if err := op.run(c); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func BenchmarkSendRecv(b *testing.B) {
	for _, n := range []int{0, 1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			err := RunInProcess(2, func(c Comm) error {
				buf := make([]byte, n)
				for range b.N {
					if c.Rank() == 0 {
						if err := c.Send(buf, 1, 0); err != nil {
							return err
						}
					} else if _, _, err := c.Recv(0, 0); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
