! What planted.h does, for Fortran: see there.
module planted
  use mpi
  use, intrinsic :: iso_c_binding
  use coppice_intervals
  implicit none
  integer, parameter :: most = 256
  integer :: rank, processes, notes = 0, wrong
  double precision :: offset, noted_here(most + 3), initialised, worked = 0
  double precision, allocatable :: noted(:, :)

  type, bind(c) :: timespec
    integer(c_long) :: s, ns
  end type

  interface
    integer(c_int) function clock_gettime(id, t) bind(c)
      import
      integer(c_int), value :: id
      type(timespec) :: t
    end function
    integer(c_int) function clock_nanosleep(id, flags, t, rest) bind(c)
      import
      integer(c_int), value :: id, flags
      type(timespec) :: t, rest
    end function
  end interface
  integer(c_int), parameter :: monotonic = 1

contains
  double precision function host()
    type(timespec) :: t
    wrong = clock_gettime(monotonic, t)
    host = t%s + 1d-9*t%ns
  end function

  double precision function now()
    now = MPI_Wtime() + offset
  end function

  subroutine note()
    if (notes == most) call MPI_Abort(MPI_COMM_WORLD, 3, wrong)
    notes = notes + 1
    noted_here(notes) = now()
  end subroutine

  subroutine work(ms)
    integer, intent(in) :: ms
    type(timespec) :: t
    double precision :: begun
    begun = host()
    t = timespec(ms/1000, mod(ms, 1000)*1000000_c_long)
    do while (clock_nanosleep(monotonic, 0, t, t) /= 0)
    end do
    worked = worked + host() - begun
  end subroutine

  subroutine begin(wanted)
    integer, intent(in) :: wanted
    double precision :: a, w, b, least
    integer :: i
    call MPI_Init(wrong)
    initialised = host()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, wrong)
    call MPI_Comm_size(MPI_COMM_WORLD, processes, wrong)
    if (processes /= wanted) call MPI_Abort(MPI_COMM_WORLD, 2, wrong)
    least = 1
    do i = 1, 10
      a = host()
      w = MPI_Wtime()
      b = host()
      if (b - a < least) then
        least = b - a
        offset = (a + b)/2 - w
      end if
    end do
    call MPI_Barrier(MPI_COMM_WORLD, wrong)
    call coppice_begin(1)
    noted_here(most + 1) = now()
  end subroutine

  subroutine finish()
    noted_here(most + 2) = now()
    noted_here(most + 3) = host() - initialised - worked
    call coppice_end(1)
    allocate (noted(most + 3, 0:processes - 1))
    call MPI_Gather(noted_here, most + 3, MPI_DOUBLE_PRECISION, noted, most + 3, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, wrong)
  end subroutine

  subroutine result(kind, process, function, seconds, pattern, waits)
    character(*), intent(in) :: kind, function, pattern
    integer, intent(in) :: process
    double precision, intent(in) :: seconds, waits
    double precision :: runtime
    if (rank == 0) then
      runtime = maxval(noted(most + 2, :)) - minval(noted(most + 1, :))
      print '(3a,i0,3a,f12.6,a,f12.6,3a,f12.6,a,f12.6,a)', '{"kind":"', kind, '","process":', process, ',"function":"', function, &
        '","seconds":', seconds, ',"runtime":', runtime, ',"pattern":"', pattern, '","waits":', waits, &
        ',"besides":', sum(noted(most + 3, :)) - waits, '}'
    end if
    call MPI_Finalize(wrong)
  end subroutine
end module
