module github.com/coppice-hpc/coppice/bench/xtf/bbolt

go 1.26.0

require (
	github.com/coppice-hpc/coppice v0.0.0
	go.etcd.io/bbolt v1.5.0
)

require golang.org/x/sys v0.48.0 // indirect

replace github.com/coppice-hpc/coppice => ../../..
