extension [Int64] {
  /// The keys in chunks of few different lengths, so that few different statements are prepared. The last chunk is
  /// filled up with repetitions to a power of two.
  var chunks: [[Int64]] {
    let size = 4_096
    return stride(from: 0, to: count, by: size).map { start in
      var chunk = Array(self[start..<Swift.min(start + size, count)])
      var size = 1
      while size < chunk.count { size *= 2 }
      chunk += repeatElement(chunk[0], count: size - chunk.count)
      return chunk
    }
  }
}
