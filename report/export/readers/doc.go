// Package readers reads the output of package export with other readers: Parquet and Arrow with Apache's own library, Perfetto's
// protobuf with the protobuf runtime and the published field numbers and types.
//
// It is a separate module, so that coppice neither depends on these libraries nor compiles them in its checks.
package readers
