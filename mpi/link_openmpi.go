//go:build cgo && !nompi && !mpich

package mpi

// #cgo pkg-config: ompi-c
import "C"
