! Process 1 starts a persistent receive, works 10 ms and waits for it; process 0 starts the send after 40 ms.
program persistent
  use planted
  implicit none
  integer, parameter :: rounds = 10
  integer :: i, item, request
  double precision :: waits

  item = 0
  call begin(2)
  if (rank == 0) then
    call MPI_Send_init(item, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, request, wrong)
  else
    call MPI_Recv_init(item, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, request, wrong)
  end if
  do i = 1, rounds
    if (rank == 0) then
      call work(40)
      call note()
      call MPI_Start(request, wrong) ! late
    else
      call MPI_Start(request, wrong)
      call work(10)
      call note()
    end if
    call MPI_Wait(request, MPI_STATUS_IGNORE, wrong) ! waits
  end do
  call MPI_Request_free(request, wrong)
  call finish()
  waits = 0
  if (rank == 0) waits = sum(max(0d0, noted(:rounds, 0) - noted(:rounds, 1)))
  call result('late_sender', 0, '', waits, 'late_sender', waits)
end program
