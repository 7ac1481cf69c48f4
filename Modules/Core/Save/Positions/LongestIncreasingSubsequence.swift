extension [Int64?] {
  /// The indices of a longest subsequence of strictly rising numbers.
  ///
  /// Patience sorting, as in M. L. Fredman, "On computing the length of longest increasing subsequences", Discrete
  /// Mathematics 11 (1975): for each length, the subsequence with the smallest last number is remembered. Takes time in
  /// proportion to n log n, and to n for numbers that rise already.
  var longestIncreasingSubsequence: [Int] {
    // The index of the smallest last number of a subsequence, by the subsequence's length minus one.
    var lasts: [Int] = []
    lasts.reserveCapacity(count)
    // The greatest number in `lasts`, which most numbers of a list extend.
    var greatest: Int64?
    var predecessors = [Int](repeating: -1, count: count)
    for index in indices {
      guard let number = self[index] else { continue }
      let isGreatest = greatest.map { $0 < number } ?? true
      let length = isGreatest ? lasts.count : lengthToExtend(with: number, lasts)
      if length > 0 { predecessors[index] = lasts[length - 1] }
      if length == lasts.count { lasts.append(index) } else { lasts[length] = index }
      if length == lasts.count - 1 { greatest = number }
    }
    guard var index = lasts.last else { return [] }
    var result = lasts
    for position in result.indices.reversed() {
      result[position] = index
      index = predecessors[index]
    }
    return result
  }

  /// The length of the longest remembered subsequence that a number extends. The number is not greater than all others.
  private func lengthToExtend(with number: Int64, _ lasts: [Int]) -> Int {
    var (low, high) = (0, lasts.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if self[lasts[middle]]! < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
