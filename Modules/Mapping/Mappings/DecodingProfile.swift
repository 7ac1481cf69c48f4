import Synchronization

/// The observed behaviour of a type's own `init(from:)`. A memberwise type needs no decoding: models are made by
/// copying field values into memory, which is faster.
final class DecodingProfile: Sendable {
  enum Behaviour: UInt8, AtomicRepresentable {
    case unknown
    /// All observed models had the field values in their properties and nothing else.
    case memberwise
    /// The decoding computes or changes values, or sets properties without a field.
    case custom
  }

  /// The number of models that a fetch decodes and observes first. Later models of a memberwise type are made without
  /// the decoding.
  static let sampleCount = 32

  private let observed: Atomic<Behaviour>

  init(_ behaviour: Behaviour) { observed = Atomic(behaviour) }

  var behaviour: Behaviour { observed.load(ordering: .relaxed) }

  /// Records the behaviour that a decoded model has shown.
  func record(_ behaviour: Behaviour) {
    // A single custom decoding is final: later models may match their fields by chance.
    if behaviour == .custom { return observed.store(.custom, ordering: .relaxed) }
    _ = observed.compareExchange(expected: .unknown, desired: behaviour, ordering: .relaxed)
  }
}
