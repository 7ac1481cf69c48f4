import Synchronization

/// The observed behaviour of a type's own decoding.
final class DecodingProfile: Sendable {
  enum Behaviour: UInt8, AtomicRepresentable {
    case unknown
    /// All observed models had the field values in their properties and nothing else.
    case memberwise
    /// The decoding computes or changes values, or has properties that are no fields.
    case custom
  }

  /// The number of models of one fetch that are observed before later models are made without the decoding.
  static let sampleCount = 32

  private let observed: Atomic<Behaviour>

  init(_ behaviour: Behaviour) { observed = Atomic(behaviour) }

  var behaviour: Behaviour { observed.load(ordering: .relaxed) }

  func record(_ behaviour: Behaviour) {
    // A decoding that was custom once stays custom, whatever later models look like.
    _ = observed.compareExchange(
      expected: behaviour == .custom ? self.behaviour : .unknown, desired: behaviour, ordering: .relaxed)
  }
}
