import CoherenceCore

/// Makes the models of a fetch, of the values that the store reads.
///
/// The first one is decoded. When it shows that decoding does nothing but put the fields in their places, the others are
/// put together in memory.
final class ModelMaker<Model: Codable & SendableMetatype>: ValueSink {
  private let binding: BoundMapping<Model>
  private let decoding: RowDecoding<Model>
  private var decoded: [Model] = []
  /// Whether a look was taken at whether models can be put together.
  private var isDecided = false
  private var assembly: ModelAssembly?
  /// The uids of the models that are wanted; `nil` for all, and for a fetch that finds no others.
  var wanted: Set<AttributeValue>?
  private let uidPlace: Int
  private(set) var count = 0

  /// The slot of each field.
  let slots: [Int]

  init(_ binding: BoundMapping<Model>) {
    self.binding = binding
    slots = binding.slots
    uidPlace = binding.uidPlace
    decoding = RowDecoding(binding)
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
      if let field = assembly.add(values) { throw binding.misfit(binding.mapping.fields[field].attribute.name) }
    } else {
      try decode(values)
    }
  }

  private func decode(_ values: UnsafeMutablePointer<AttributeValue>) throws {
    defer { values.deinitialize(count: slots.count) }
    let model = try decoding.model(of: values)
    decoded.append(model)
    if !isDecided { assembly = ModelAssembly(binding, like: model, of: values) }
    isDecided = true
  }
}
