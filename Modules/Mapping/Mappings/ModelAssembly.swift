import CoherenceCore

/// Makes models by initialising each field in memory, as a memberwise initialiser does.
///
/// Only a structure whose stored properties are all fields has an assembly, which is made from a decoded model. The
/// decoding of this model must have assigned the values unchanged. ``ModelMaker`` makes an assembly from several models
/// first, because a type's own decoding may change some values only. An assembled model then equals the decoded one.
///
/// The work for each model does not know the model's type, so that it asks the runtime for no type metadata.
final class ModelAssembly {
  // Safety of `assumingMemoryBound`: `base` is memory for models of the one type that the assembly was made for, of
  // which the first `count` are initialised.
  private struct LocatedField {
    /// The index of the field in the mapping.
    let index: Int
    let location: FieldLocation
  }
  private struct Initializer {
    /// The index of the field in the mapping.
    let index: Int
    /// The distance of the property from the beginning of the model, in bytes.
    let offset: Int
    let initialize: @Sendable (UnsafeMutableRawPointer, UnsafeMutablePointer<AttributeValue>) -> Bool
  }
  /// The fields, in the order of their locations.
  private let locatedFields: [LocatedField]
  /// What `add` needs of each field. Its loop over the whole fields would copy them, with all their closures.
  private let initializers: [Initializer]
  /// The memory of the models made so far.
  private var base: UnsafeMutableRawPointer
  private var capacity = 64
  private var count = 0
  private let stride: Int
  /// Moves the models to memory with a larger capacity, and returns its address.
  private let grow: (_ base: UnsafeMutableRawPointer, _ count: Int, _ capacity: Int) -> UnsafeMutableRawPointer
  /// Deinitialises the models and deallocates their memory.
  private let release: (_ base: UnsafeMutableRawPointer, _ count: Int) -> Void

  /// - Parameters:
  ///   - model: A decoded model.
  ///   - values: The values that the model was decoded from, one for each field.
  /// - Returns: `nil` for a type whose models cannot be assembled.
  init?<Model>(_ binding: BoundMapping<Model>, like model: Model, of values: UnsafeMutablePointer<AttributeValue>) {
    let fields = binding.mapping.fields
    locatedFields = fields.enumerated().compactMap { index, field in
      field.access.location.map { LocatedField(index: index, location: $0) }
    }.sorted { $0.location.offset < $1.location.offset }
    guard locatedFields.count == fields.count, Self.areDisjoint(locatedFields),
      Self.types(of: model) == locatedFields.map(\.location.type),
      locatedFields.allSatisfy({ field in (try? fields[field.index].access.get(model)) == values[field.index] })
    else { return nil }
    initializers = locatedFields.map {
      Initializer(index: $0.index, offset: $0.location.offset, initialize: $0.location.initialize)
    }
    stride = MemoryLayout<Model>.stride
    base = UnsafeMutableRawPointer(UnsafeMutablePointer<Model>.allocate(capacity: capacity))
    grow = { base, count, capacity in
      let (old, new) = (
        base.assumingMemoryBound(to: Model.self), UnsafeMutablePointer<Model>.allocate(capacity: capacity)
      )
      new.moveInitialize(from: old, count: count)
      old.deallocate()
      return UnsafeMutableRawPointer(new)
    }
    release = { base, count in
      let models = base.assumingMemoryBound(to: Model.self)
      models.deinitialize(count: count)
      models.deallocate()
    }
  }

  deinit { release(base, count) }

  /// Whether no two fields share memory. Two fields of one property would leave another property of its type without a
  /// value.
  private static func areDisjoint(_ fields: [LocatedField]) -> Bool {
    zip(fields, fields.dropFirst()).allSatisfy { field, next in
      field.location.offset + max(field.location.size, 1) <= next.location.offset
    }
  }

  /// The types of a structure's stored properties, in their order in memory; `nil` for other kinds of types.
  private static func types<Model>(of model: Model) -> [ObjectIdentifier]? {
    guard !(model is any CustomReflectable) else { return nil }
    let mirror = Mirror(reflecting: model)
    guard mirror.displayStyle == .struct else { return nil }
    return mirror.children.map { ObjectIdentifier(type(of: $0.value)) }
  }

  /// Makes a model of values, which are moved out of their memory.
  ///
  /// - Returns: Whether all values fit. Otherwise no model is added.
  func add(_ values: UnsafeMutablePointer<AttributeValue>) -> Bool {
    if count == capacity {
      capacity *= 2
      base = grow(base, count, capacity)
    }
    let model = base + count * stride
    let unsuitable = initializers.withUnsafeBufferPointer { fields in
      fields.indices.first { !fields[$0].initialize(model + fields[$0].offset, values + fields[$0].index) }
    }
    if let unsuitable {
      discard(unsuitable, model, values)
      return false
    }
    count += 1
    return true
  }

  /// Deinitialises an incomplete model and its unused values.
  ///
  /// - Parameter index: The index in `locatedFields` of the field whose value does not fit.
  private func discard(_ index: Int, _ model: UnsafeMutableRawPointer, _ values: UnsafeMutablePointer<AttributeValue>) {
    for field in locatedFields[..<index] { field.location.deinitialize(model + field.location.offset) }
    for field in locatedFields[(index + 1)...] { (values + field.index).deinitialize(count: 1) }
  }

  /// Returns decoded models, followed by the assembled ones, which leave the assembly.
  ///
  /// - Precondition: The models have the type that the assembly was made for.
  func takeModels<Model>(after decoded: [Model]) -> [Model] {
    let models = base.assumingMemoryBound(to: Model.self)
    defer { count = 0 }
    return [Model](unsafeUninitializedCapacity: decoded.count + count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      for (index, model) in decoded.enumerated() { (start + index).initialize(to: model) }
      (start + decoded.count).moveInitialize(from: models, count: count)
      initialized = decoded.count + count
    }
  }
}
