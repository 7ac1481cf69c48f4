import Foundation

/// The time limit of the process of an exit test.
package enum ProcessLimit {
  /// Ends the calling process after five minutes by a signal, also if none of its threads continues.
  ///
  /// The parent's reads of the process's output block threads of the concurrency pool. On two processors, a single
  /// process that never ends stops all tests of the parent.
  package static func begin() { alarm(300) }
}
