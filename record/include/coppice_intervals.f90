! Markers for the intervals of coppice, for Fortran; compile it with the program.
!
!     use coppice_intervals
!     call coppice_begin(153)    ! an interval with the number 153 begins
!     ...
!     call coppice_end(153)      ! and ends
!
! coppice_intervals.h says what a marker is. Numbers are 0 to 32767.
module coppice_intervals
  use mpi
  implicit none
  private
  public :: coppice_begin, coppice_end
contains
  subroutine coppice_begin(number)
    integer, intent(in) :: number
    call message(10922)
    call message(number)
  end subroutine coppice_begin

  subroutine coppice_end(number)
    integer, intent(in) :: number
    call message(10939)
    call message(number)
  end subroutine coppice_end

  subroutine message(tag)
    integer, intent(in) :: tag
    integer :: nothing(1), status(MPI_STATUS_SIZE), ierror
    nothing = 0
    call MPI_Sendrecv(nothing, 0, MPI_INTEGER, 0, tag, nothing, 0, MPI_INTEGER, 0, tag, MPI_COMM_SELF, status, ierror)
  end subroutine message
end module coppice_intervals
