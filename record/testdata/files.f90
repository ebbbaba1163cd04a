! Calls on files from Fortran. Each process prints what it did, as files.c. Argument: the folder.
program files
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: rank, fh, request, status(MPI_STATUS_SIZE), ierror
  integer :: buffer(n)
  integer(kind=MPI_OFFSET_KIND) :: base, at
  character(len=4096) :: folder
  character(len=4200) :: name
  logical :: done
  buffer = 7
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call get_command_argument(1, folder)
  name = trim(folder) // '/fortran'
  fh = 123456 ! no handle
  call MPI_File_open(MPI_COMM_SELF, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, fh, ierror)
  if (ierror == MPI_SUCCESS) stop 1
  fh = 123456
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierror)
  base = rank * n * 4
  call MPI_File_write_at(fh, base, buffer, n, MPI_INTEGER, status, ierror)
  call did('write_at', base)
  call MPI_File_sync(fh, ierror)
  call MPI_File_seek(fh, base, MPI_SEEK_SET, ierror)
  call MPI_File_read(fh, buffer, n / 2, MPI_INTEGER, status, ierror)
  at = -1
  call did('read', at)
  call MPI_File_iwrite_at(fh, base, buffer, 10, MPI_INTEGER, request, ierror)
  call MPI_Wait(request, status, ierror)
  call did('iwrite_at', base)
  call MPI_File_iread_at(fh, base, buffer, 20, MPI_INTEGER, request, ierror)
  done = .false.
  do while (.not. done)
    call MPI_Test(request, done, status, ierror)
  end do
  call did('iread_at', base)
  call MPI_File_write_at_all_begin(fh, base, buffer, n, MPI_INTEGER, ierror)
  call MPI_File_write_at_all_end(fh, buffer, status, ierror)
  call did('write_at_all_begin', base)
  call MPI_File_close(fh, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, ierror)
  call MPI_Finalize(ierror)
contains
  subroutine did(call, offset)
    character(len=*), intent(in) :: call
    integer(kind=MPI_OFFSET_KIND), intent(in) :: offset
    character(len=200) :: line
    integer :: bytes
    call MPI_Get_count(status, MPI_BYTE, bytes, ierror)
    write (line, '(a,i0,a,a,a,i0,a,i0,a)') '{"Rank":', rank, ',"Call":"MPI_File_', call, &
      '","Bytes":', bytes, ',"Offset":', offset, '}'
    print '(a)', trim(line)
  end subroutine
end program
