! OpenMP of gfortran, as the NAS parallel benchmarks have it: sums of pseudo-random numbers, which integers make exact, and sweeps over a grid. It prints
! what has one right value.
program gnu
  use mpi
  use omp_lib
  implicit none
  integer, parameter :: rounds = 10, threads = 3, n = 200
  integer(8) :: sums, x
  real(8) :: grid(n, n)
  integer :: i, j, k, rank, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  sums = 0
  grid = 1
  do k = 1, rounds
    !$omp parallel do num_threads(threads) private(x, j) reduction(+:sums) schedule(dynamic, 5)
    do i = 1, 64
      x = i
      do j = 1, 1000
        x = mod(x * 16807_8, 2147483647_8)
      end do
      sums = sums + x
    end do
    !$omp end parallel do
    !$omp parallel num_threads(threads) private(i, j)
    !$omp do
    do j = 2, n - 1
      do i = 2, n - 1
        grid(i, j) = 0.5d0 * grid(i, j) + 0.25d0 * i
      end do
    end do
    !$omp end do
    !$omp critical
    sums = sums + omp_get_thread_num()
    !$omp end critical
    !$omp barrier
    !$omp workshare
    grid(1, :) = grid(2, :)
    !$omp end workshare
    !$omp end parallel
  end do
  call MPI_Allreduce(MPI_IN_PLACE, sums, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0, 1x, es24.16)', sums, sum(grid)
  call MPI_Finalize(ierr)
end program
