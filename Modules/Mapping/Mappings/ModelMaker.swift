import CoherenceCore

/// Makes the models of a fetch, of the values that the store reads.
///
/// The first ones are decoded. When they show that decoding does nothing but put the fields in their places, the others
/// are put together in memory.
final class ModelMaker<Model: Codable & SendableMetatype>: ValueSink {
  private let binding: BoundMapping<Model>
  private let decoding: RowDecoding<Model>
  private var decoded: [Model] = []
  /// How many models are still to be looked at before others are put together; `nil` when none will be.
  private var samplesLeft: Int?
  private var assembly: ModelAssembly?
  /// The uids of the models that are wanted; `nil` for all, and for a fetch that finds no others.
  var wanted: Set<AttributeValue>?
  private let uidPlace: Int
  private(set) var count = 0

  /// The slot of each field.
  let slots: [Int]

  /// - Parameter alwaysDecodes: Whether every model is decoded, whatever is known of the decoding.
  init(_ binding: BoundMapping<Model>, alwaysDecodes: Bool = false) {
    self.binding = binding
    slots = binding.slots
    uidPlace = binding.uidPlace
    decoding = RowDecoding(binding.mapping)
    switch binding.mapping.habit.verdict {
    case _ where alwaysDecodes, .doesMore: samplesLeft = nil
    case .putsInPlaces: samplesLeft = 1
    case .unknown: samplesLeft = DecodingHabit.samples
    }
  }

  /// Hands over the models that were made, in the order in which their values came.
  func finish() -> [Model] {
    guard let assembly else { return decoded }
    return assembly.take(after: decoded)
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    count += 1
    if let wanted, !wanted.contains(values[uidPlace]) {
      values.deinitialize(count: slots.count)
    } else if let assembly {
      guard assembly.add(values) else { throw DecodingNeeded() }
    } else {
      try decode(values)
    }
  }

  private func decode(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    defer { values.deinitialize(count: slots.count) }
    let model = try decoding.model(of: values)
    decoded.append(model)
    guard let samplesLeft else { return }
    let habit = binding.mapping.habit
    guard let assembly = ModelAssembly(binding, like: model, of: values) else {
      habit.note(.doesMore)
      return self.samplesLeft = nil
    }
    self.samplesLeft = samplesLeft - 1
    if samplesLeft == 1 {
      habit.note(.putsInPlaces)
      self.assembly = assembly
    }
  }
}

/// A record that models cannot be put together of. Their own decoding may make one of it, and says best why it cannot.
struct DecodingNeeded: Error {}
