//go:build !unix

package view

import "net"

// listenPrivate makes a socket; who may open it is decided by its directory.
func listenPrivate(path string) (net.Listener, error) { return net.Listen("unix", path) }
