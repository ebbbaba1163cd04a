! Writes and reads files of Fortran in a folder: a sequence of records, records by number, and a text; it checks what it reads.
program posix
  use mpi
  implicit none
  integer :: ierr, i, n
  real(8) :: x(1000), y(1000)
  character(4096) :: folder, line
  call MPI_Init(ierr)
  call get_command_argument(1, folder)
  x = [(dble(i), i = 1, 1000)]
  open(10, file=trim(folder)//'/sequence', form='unformatted', status='replace')
  do i = 1, 50
    write(10) x
  end do
  rewind(10)
  do i = 1, 50
    read(10) y
    if (any(x /= y)) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end do
  close(10)
  open(11, file=trim(folder)//'/direct', access='direct', recl=8000, status='replace')
  do i = 20, 1, -1
    write(11, rec=i) x
  end do
  read(11, rec=7) y
  if (any(x /= y)) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  close(11)
  open(12, file=trim(folder)//'/text', status='replace')
  do i = 1, 200
    write(12, '(a, i0)') 'line ', i
  end do
  rewind(12)
  n = 0
  do
    read(12, '(a)', iostat=ierr) line
    if (ierr /= 0) exit
    n = n + 1
  end do
  if (n /= 200) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  close(12)
  call MPI_Finalize(ierr)
end program
