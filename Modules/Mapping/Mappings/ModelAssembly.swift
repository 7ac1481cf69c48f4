import CoherenceCore

/// Makes models by initialising each field in memory, as a memberwise initialiser does.
///
/// Only a structure whose stored properties are all fields has an assembly. A decoded model proves this, and proves that the
/// type's own decoding assigns the values unchanged. An assembled model then equals the decoded one.
///
/// The work for each model does not know the model's type, so that it asks the runtime for no type metadata.
final class ModelAssembly {
  // Safety of `assumingMemoryBound`: `base` is memory for models of the one type that the assembly was made for, of
  // which the first `count` are initialised.
  private struct Part {
    /// The index of the field in the mapping.
    let field: Int
    let location: FieldLocation
  }
  private let parts: [Part]
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
    parts = fields.enumerated().compactMap { field, access in
      access.access.location.map { Part(field: field, location: $0) }
    }.sorted { $0.location.offset < $1.location.offset }
    guard parts.count == fields.count, Self.areDisjoint(parts), Self.types(of: model) == parts.map(\.location.type),
      parts.allSatisfy({ part in (try? fields[part.field].access.get(model)) == values[part.field] })
    else { return nil }
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
  private static func areDisjoint(_ parts: [Part]) -> Bool {
    zip(parts, parts.dropFirst()).allSatisfy { part, next in
      part.location.offset + max(part.location.size, 1) <= next.location.offset
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
    for index in parts.indices
    where !parts[index].location.initialize(
      model + parts[index].location.offset, values + parts[index].field)
    {
      discard(index, model, values)
      return false
    }
    count += 1
    return true
  }

  /// Deinitialises an incomplete model and its unused values.
  ///
  /// - Parameter index: The part whose value does not fit.
  private func discard(_ index: Int, _ model: UnsafeMutableRawPointer, _ values: UnsafeMutablePointer<AttributeValue>) {
    for part in parts[..<index] { part.location.deinitialize(model + part.location.offset) }
    for part in parts[(index + 1)...] { (values + part.field).deinitialize(count: 1) }
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
