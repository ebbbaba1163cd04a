! Calls MPI from a program and from procedures of a module, through both bindings that Fortran programs use.
module sited
contains
  subroutine old(x)
    use mpi
    integer, intent(inout) :: x
    integer :: e
    call MPI_Bcast(x, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e) ! in old
  end subroutine

  subroutine new(x)
    use mpi_f08
    integer, intent(inout) :: x
    call MPI_Barrier(MPI_COMM_WORLD) ! in new
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD) ! in new
    x = x + 1
  end subroutine
end module

program sites
  use sited
  integer :: e, x
  call begin()
  x = 1
  call old(x)
  call new(x)
  print *, x
  call MPI_Finalize(e) ! in sites
contains
  subroutine begin()
    integer :: e
    call MPI_Init(e) ! in begin
  end subroutine
end program
