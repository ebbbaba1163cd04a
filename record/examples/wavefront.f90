! A wavefront: a grid of size x size columns of height 16, columns dealt out over a grid of processes. A step sweeps
! from one corner to the other and back; every point needs its neighbours before it, so that each process waits for the edges of two
! others and hands on its own, plane by plane. A residual with Allreduce every few steps.
!
!   mpif90 -O2 -c ../include/coppice_intervals.f90
!   mpif90 -O2 wavefront.f90 coppice_intervals.o -o wavefront
!   mpirun -n 4 ./wavefront --size 256 --steps 20 --imbalance 50
!
! --compute=busy computes the points; --compute=sleep sleeps instead, one microsecond for each 1000 points, so that runs
! with more processes than cores are fair. --imbalance P gives the last process P per cent more work, --slow F all processes
! F times the work, and --delay-us D is a sleep before each send, and before each round of the Allreduce.
program wavefront
  use mpi
  use coppice_intervals
  use, intrinsic :: iso_c_binding, only: c_long, c_int, c_ptr, c_null_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none

  integer, parameter :: SOLVE = 1, FORTH = 2, BACK = 3
  integer, parameter :: planes = 16, real64 = kind(1.0d0)

  type, bind(c) :: timespec
    integer(c_long) :: seconds, nanoseconds
  end type timespec

  interface
    function nanosleep(duration, rest) bind(c, name='nanosleep') result(rc)
      import :: timespec, c_ptr, c_int
      type(timespec), intent(in) :: duration
      type(c_ptr), value :: rest
      integer(c_int) :: rc
    end function nanosleep
  end interface

  integer :: size = 256, steps = 20
  logical :: sleeps = .false.
  real(real64) :: imbalance = 0, slow = 1, delay = 0
  integer :: ierror, rank, processes, grid, dims(2), west, east, south, north, at(2), nx, ny, step
  real(real64), allocatable :: u(:, :, :), edge_x(:), edge_y(:)
  real(real64) :: change, total
  logical :: ok

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierror)
  call read_options(ok)
  if (.not. ok) then
    call MPI_Finalize(ierror)
    stop 2
  end if
  dims = 0
  call MPI_Dims_create(processes, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .false., grid, ierror)
  call MPI_Comm_rank(grid, rank, ierror)
  call MPI_Cart_coords(grid, rank, 2, at, ierror)
  call MPI_Cart_shift(grid, 0, 1, west, east, ierror)
  call MPI_Cart_shift(grid, 1, 1, south, north, ierror)
  nx = size/dims(1) + merge(1, 0, at(1) < mod(size, dims(1)))
  ny = size/dims(2) + merge(1, 0, at(2) < mod(size, dims(2)))
  allocate (u(0:nx + 1, 0:ny + 1, planes), edge_x(nx), edge_y(ny))
  u = 0
  if (west == MPI_PROC_NULL) u(0, :, :) = 1

  total = 0
  call coppice_begin(SOLVE)
  do step = 1, steps
    call coppice_begin(FORTH)
    call sweep(west, east, south, north, 1)
    call coppice_end(FORTH)
    call coppice_begin(BACK)
    call sweep(east, west, north, south, -1)
    call coppice_end(BACK)
    if (mod(step, 5) == 0) then
      change = sum(u(1:nx, 1:ny, :))
      call before_all()
      call MPI_Allreduce(change, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid, ierror)
    end if
  end do
  call coppice_end(SOLVE)
  if (rank == 0) print '(i0, a, i0, a, i0, a, es16.9)', steps, ' steps of ', size, ' x ', size, ', sum ', total
  call MPI_Comm_free(grid, ierror)
  call MPI_Finalize(ierror)

contains

  ! sweep goes through the planes: edges come from two neighbours, and the own ones go to the other two.
  subroutine sweep(from_x, to_x, from_y, to_y, direction)
    integer, intent(in) :: from_x, to_x, from_y, to_y, direction
    integer :: k, first_x, last_x, first_y, last_y
    first_x = merge(1, nx, direction > 0)
    last_x = merge(nx, 1, direction > 0)
    first_y = merge(1, ny, direction > 0)
    last_y = merge(ny, 1, direction > 0)
    do k = 1, planes
      if (from_x /= MPI_PROC_NULL) then
        call MPI_Recv(edge_y, ny, MPI_DOUBLE_PRECISION, from_x, 1, grid, MPI_STATUS_IGNORE, ierror)
        u(first_x - direction, 1:ny, k) = edge_y
      end if
      if (from_y /= MPI_PROC_NULL) then
        call MPI_Recv(edge_x, nx, MPI_DOUBLE_PRECISION, from_y, 2, grid, MPI_STATUS_IGNORE, ierror)
        u(1:nx, first_y - direction, k) = edge_x
      end if
      call compute(k, first_x, last_x, first_y, direction)
      edge_y = u(last_x, 1:ny, k)
      call before_send(to_x)
      call MPI_Send(edge_y, ny, MPI_DOUBLE_PRECISION, to_x, 1, grid, ierror)
      edge_x = u(1:nx, last_y, k)
      call before_send(to_y)
      call MPI_Send(edge_x, nx, MPI_DOUBLE_PRECISION, to_y, 2, grid, ierror)
    end do
  end subroutine sweep

  ! compute works on a plane; more work is more columns, again from the first one.
  subroutine compute(k, first_x, last_x, first_y, direction)
    integer, intent(in) :: k, first_x, last_x, first_y, direction
    integer :: column, columns, i, j
    real(real64) :: more
    more = slow
    if (rank == processes - 1) more = slow*(1 + imbalance/100)
    if (sleeps) then
      call sleep_for(more*nx*ny/1000)
      return
    end if
    columns = nint(more*ny)
    do column = 0, columns - 1
      j = first_y + direction*mod(column, ny)
      do i = first_x, last_x, direction
        u(i, j, k) = (u(i - direction, j, k) + u(i, j - direction, k) + u(i, j, k))/3
      end do
    end do
  end subroutine compute

  ! before_send makes a slow network: the sender pays.
  subroutine before_send(to)
    integer, intent(in) :: to
    if (delay > 0 .and. to /= MPI_PROC_NULL) call sleep_for(delay)
  end subroutine before_send

  ! before_all does the same before a collective operation: a send in each of its log2(processes) rounds.
  subroutine before_all()
    integer :: n
    n = 1
    do while (n < processes .and. delay > 0)
      call sleep_for(delay)
      n = 2*n
    end do
  end subroutine before_all

  subroutine sleep_for(us)
    real(real64), intent(in) :: us
    type(timespec) :: t
    integer(c_int) :: rc
    t%seconds = int(us/1.0d6, c_long)
    t%nanoseconds = int((us - 1.0d6*real(t%seconds, real64))*1000, c_long)
    rc = nanosleep(t, c_null_ptr)
  end subroutine sleep_for

  ! read_options takes --name=value and --name value.
  subroutine read_options(ok)
    logical, intent(out) :: ok
    character(len=64) :: name, value
    integer :: i, cut, bad
    ok = .true.
    i = 1
    do while (i <= command_argument_count() .and. ok)
      call get_command_argument(i, name)
      cut = index(name, '=')
      if (cut > 0) then
        value = name(cut + 1:)
        name = name(:cut - 1)
      else
        i = i + 1
        call get_command_argument(i, value)
      end if
      bad = 0
      select case (name)
      case ('--size')
        read (value, *, iostat=bad) size
      case ('--steps')
        read (value, *, iostat=bad) steps
      case ('--imbalance')
        read (value, *, iostat=bad) imbalance
      case ('--slow')
        read (value, *, iostat=bad) slow
      case ('--delay-us')
        read (value, *, iostat=bad) delay
      case ('--compute')
        sleeps = value == 'sleep'
        if (.not. sleeps .and. value /= 'busy') bad = 1
      case default
        bad = 1
      end select
      ok = bad == 0
      i = i + 1
    end do
    ok = ok .and. size >= processes .and. steps >= 0 .and. imbalance >= 0 .and. slow > 0 .and. delay >= 0
    if (.not. ok) write (error_unit, '(a)') &
      'wavefront: usage: --size N, --steps N, --imbalance PERCENT, --slow FACTOR, --delay-us D, --compute busy|sleep'
  end subroutine read_options
end program wavefront
