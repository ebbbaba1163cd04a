! Process 0 prepares each step alone for 60 ms; then all four work 40 ms.
module parts ! the recorder names what the linker can: no internal procedures
  use planted
  implicit none
contains
  subroutine prepare() bind(c)
    call work(60)
  end subroutine
end module

program serial_section
  use parts
  implicit none
  integer, parameter :: rounds = 4
  integer :: i
  double precision :: waits(0:3)

  call begin(4)
  do i = 1, rounds
    call MPI_Barrier(MPI_COMM_WORLD, wrong)
    if (rank == 0) call prepare()
    call note()
    call MPI_Barrier(MPI_COMM_WORLD, wrong) ! waits, late
    call work(40)
    call note()
  end do
  call finish()
  waits = 0
  if (rank == 0) then
    do i = 1, 2*rounds - 1
      waits = waits + maxval(noted(i, :)) - noted(i, :)
    end do
  end if
  call result('serial', 0, 'prepare', maxval(waits), 'wait_barrier', sum(waits))
end program
