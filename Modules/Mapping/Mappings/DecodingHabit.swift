import Synchronization

/// What is known of a type's own decoding, from the models that it made.
final class DecodingHabit: Sendable {
  enum Verdict: UInt8, AtomicRepresentable {
    case unknown
    /// It puts the fields in their places, as far as was seen.
    case putsInPlaces
    case doesMore
  }

  /// So many models of one fetch are looked at before others are put together without asking the decoding.
  static let samples = 32

  private let known: Atomic<Verdict>

  init(_ verdict: Verdict) { known = Atomic(verdict) }

  var verdict: Verdict { known.load(ordering: .relaxed) }

  func note(_ verdict: Verdict) {
    // What was once seen to do more does not do less.
    _ = known.compareExchange(
      expected: verdict == .doesMore ? self.verdict : .unknown, desired: verdict, ordering: .relaxed)
  }
}
