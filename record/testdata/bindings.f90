! The three Fortran bindings of MPI in one program. Prints nothing when all data arrive. Run with 4 processes.

subroutine with_mpif(again)
   implicit none
   include 'mpif.h'
   integer, intent(in) :: again
   integer :: rank, size, ierr, flag_count, left, right, i, sums(4), r(4), s(MPI_STATUS_SIZE), &
      all(MPI_STATUS_SIZE, 4), indices(4), half, index
   integer, asynchronous :: in(4), out(4)
   logical :: flag
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
   left = mod(rank + size - 1, size)
   right = mod(rank + 1, size)
   do i = 1, 4
      out(i) = 10*rank + i + again
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, r(i), ierr)
   end do
   do i = 1, 4
      call MPI_Send(out(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, ierr)
   end do
   call MPI_Waitany(2, r(1:2), index, s, ierr)
   call MPI_Waitany(2, r(1:2), index, MPI_STATUS_IGNORE, ierr)
   flag_count = 0
   do while (flag_count < 2)
      call MPI_Waitsome(2, r(3:4), i, indices, all, ierr)
      flag_count = flag_count + i
   end do
   do i = 1, 4
      if (in(i) /= 10*left + i + again) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   end do
   call MPI_Sendrecv(out, 2, MPI_INTEGER, right, 5, in, 2, MPI_INTEGER, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
   sums = rank
   call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
   call MPI_Allgather(rank, 1, MPI_INTEGER, sums, 1, MPI_INTEGER, half, ierr)
   call MPI_Comm_free(half, ierr)
   call MPI_Irecv(in, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, r(1), ierr)
   call MPI_Isend(out, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD, r(2), ierr)
   flag = .false.
   do while (.not. flag)
      call MPI_Testall(2, r, flag, MPI_STATUSES_IGNORE, ierr)
   end do
end subroutine

subroutine with_mpi
   use mpi
   implicit none
   integer :: rank, size, ierr, left, right, i, r(2), later, q, s(MPI_STATUS_SIZE), ring
   integer(MPI_ADDRESS_KIND), asynchronous :: far(2)
   integer, asynchronous :: in, out, sums(4), pair(2)
   logical :: flag
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
   left = mod(rank + size - 1, size)
   right = mod(rank + 1, size)
   call MPI_Send_init(out, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD, r(1), ierr)
   call MPI_Recv_init(in, 1, MPI_INTEGER, left, 7, MPI_COMM_WORLD, r(2), ierr)
   do i = 1, 3
      out = rank + i
      call MPI_Startall(2, r, ierr)
      call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)
      call MPI_Wait(r(2), s, ierr)
      if (in /= left + i) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   end do
   call MPI_Request_free(r(1), ierr)
   call MPI_Request_free(r(2), ierr)
   pair = rank
   call MPI_Comm_idup(MPI_COMM_WORLD, later, q, ierr)
   call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
   call MPI_Iallreduce(rank, sums, 1, MPI_INTEGER, MPI_SUM, later, q, ierr)
   flag = .false.
   do while (.not. flag)
      call MPI_Test(q, flag, s, ierr)
   end do
   call MPI_Gather(rank, 1, MPI_INTEGER, sums, 1, MPI_INTEGER, 0, later, ierr)
   call MPI_Cart_create(later, 1, [size], [.true.], .false., ring, ierr)
   call MPI_Neighbor_alltoall([rank, rank], 1, MPI_INTEGER, sums, 1, MPI_INTEGER, ring, ierr)
   if (sums(1) /= left .or. sums(2) /= right) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   sums = -1
   far = [0, 4]
   call MPI_Ineighbor_alltoallw(pair, [1, 1], far, [MPI_INTEGER, MPI_INTEGER], sums, [1, 1], far, [MPI_INTEGER, MPI_INTEGER], &
      ring, q, ierr)
   call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
   if (sums(1) /= left .or. sums(2) /= right) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   call MPI_Comm_free(ring, ierr)
   call MPI_Comm_free(later, ierr)
   call MPI_Isend(rank, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD, q, ierr)
   call MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, s, ierr)
   call MPI_Recv(in, 1, MPI_INTEGER, s(MPI_SOURCE), 8, MPI_COMM_WORLD, s, ierr)
   if (in /= left .or. s(MPI_SOURCE) /= left) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   call MPI_Wait(q, s, ierr)
end subroutine

subroutine with_f08
   use mpi_f08
   implicit none
   integer :: rank, size, left, right, sums(4), n
   integer, asynchronous :: in, out
   type(MPI_Request) :: r(2)
   type(MPI_Status) :: s, all(2)
   type(MPI_Comm) :: copy
   integer, asynchronous :: from(4), counts(4), at(4)
   type(MPI_Datatype) :: types(4)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, size)
   left = mod(rank + size - 1, size)
   right = mod(rank + 1, size)
   out = rank
   call MPI_Irecv(in, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD, r(1))
   call MPI_Isend(out, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, r(2))
   call MPI_Waitall(2, r, all)
   if (in /= left .or. all(1)%MPI_SOURCE /= left) call MPI_Abort(MPI_COMM_WORLD, 1)
   call MPI_Sendrecv(out, 1, MPI_INTEGER, right, 1, in, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, s)
   call MPI_Get_count(s, MPI_INTEGER, n)
   if (n /= 1) call MPI_Abort(MPI_COMM_WORLD, 1)
   call MPI_Comm_dup(MPI_COMM_WORLD, copy)
   sums = rank
   call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INTEGER, MPI_SUM, copy)
   call MPI_Bcast(sums, 4, MPI_INTEGER, 0, copy)
   call MPI_Barrier(copy)
   sums = rank
   counts = 1
   at = [0, 4, 8, 12]
   types = MPI_INTEGER
   call MPI_Ialltoallw(sums, counts, at, types, from, counts, at, types, copy, r(1))
   call MPI_Wait(r(1), MPI_STATUS_IGNORE)
   if (any(from /= [0, 1, 2, 3])) call MPI_Abort(MPI_COMM_WORLD, 1)
   call MPI_Comm_free(copy)
end subroutine

program bindings
   use mpi_f08
   implicit none
   interface
      subroutine with_mpif(again)
         integer, intent(in) :: again
      end subroutine
   end interface
   call MPI_Init()
   call with_mpif(0)
   call with_mpif(1)
   call with_mpi
   call with_f08
   call MPI_Finalize()
end program
