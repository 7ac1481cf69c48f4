/// Calls a closure with every sequence of operations up to a length. The operations are the numbers from zero on.
///
/// A test has to compare with its model only at the end of a sequence, because each beginning of a sequence is a
/// sequence of its own.
package func forEachSequence(of operationCount: Int, upTo length: Int, _ body: ([Int]) -> Void) {
  guard length > 0 else { return }
  forEachSequence(of: operationCount, upTo: length - 1, body)
  var sequence = Array(repeating: 0, count: length)
  while true {
    body(sequence)
    guard let last = sequence.lastIndex(where: { $0 < operationCount - 1 }) else { return }
    sequence[last] += 1
    for index in (last + 1)..<length { sequence[index] = 0 }
  }
}
