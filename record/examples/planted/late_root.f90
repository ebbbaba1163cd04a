! Process 0, root of a broadcast, comes to it 40 ms after the others.
program late_root
  use planted
  implicit none
  integer, parameter :: rounds = 8
  integer :: i, item
  double precision :: waits(0:3)

  item = 0
  call begin(4)
  do i = 1, rounds
    if (rank == 0) then
      call work(50)
    else
      call work(10)
    end if
    call note()
    call MPI_Bcast(item, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, wrong) ! waits, late
  end do
  call finish()
  waits = 0
  if (rank == 0) then
    do i = 1, rounds
      waits = waits + max(0d0, noted(i, 0) - noted(i, :))
    end do
  end if
  call result('late_broadcast', 0, '', maxval(waits), 'late_broadcast', sum(waits))
end program
