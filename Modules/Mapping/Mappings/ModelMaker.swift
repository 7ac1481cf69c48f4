import CoherenceCore

/// Makes the models of a fetch from the values that the store reads.
///
/// The first models are decoded. If they show that the type's decoding is memberwise, later models are assembled in
/// memory, which is several times as fast.
final class ModelMaker<Model: Codable & SendableMetatype>: ValueSink {
  private let binding: BoundMapping<Model>
  private let decoding: RowDecoding<Model>
  private var decoded: [Model] = []
  /// The number of models still to observe before models are assembled; `nil` when every model is decoded.
  private var samplesLeft: Int?
  private var assembly: ModelAssembly?
  /// The uids of the models to make, while the store reads other rows too; `nil` for the models of all rows.
  var wanted: Set<AttributeValue>?
  private let uidIndex: Int
  private(set) var count = 0

  /// The slot of each field.
  let slots: [Int]

  /// - Parameter alwaysDecodes: Whether every model is decoded, regardless of the type's decoding profile.
  init(_ binding: BoundMapping<Model>, alwaysDecodes: Bool = false) {
    self.binding = binding
    slots = binding.slots
    uidIndex = binding.uidIndex
    decoding = RowDecoding(binding.mapping)
    switch binding.mapping.profile.behaviour {
    case _ where alwaysDecodes, .custom: samplesLeft = nil
    // An assembly is made from a decoded model.
    case .memberwise: samplesLeft = 1
    case .unknown: samplesLeft = DecodingProfile.sampleCount
    }
  }

  /// Returns the models in the order in which the store read their values.
  func finish() -> [Model] {
    guard let assembly else { return decoded }
    return assembly.takeModels(after: decoded)
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    count += 1
    if let wanted, !wanted.contains(values[uidIndex]) {
      values.deinitialize(count: slots.count)
    } else if let assembly {
      guard assembly.add(values) else { throw DecodingNeeded() }
    } else {
      try decode(values)
    }
  }

  /// Decodes a model, and observes its decoding while samples are left.
  private func decode(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    defer { values.deinitialize(count: slots.count) }
    let model = try decoding.model(of: values)
    decoded.append(model)
    guard let samplesLeft else { return }
    let profile = binding.mapping.profile
    guard let assembly = ModelAssembly(binding, like: model, of: values) else {
      profile.record(.custom)
      return self.samplesLeft = nil
    }
    self.samplesLeft = samplesLeft - 1
    if samplesLeft == 1 {
      profile.record(.memberwise)
      self.assembly = assembly
    }
  }
}

/// Thrown for a record whose values do not fit an assembled model. The type's own decoding may accept the record, and
/// otherwise throws the most specific error.
struct DecodingNeeded: Error {}
