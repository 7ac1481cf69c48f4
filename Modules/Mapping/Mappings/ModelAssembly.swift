import CoherenceCore

/// Makes models by putting each field in its place in memory, as a memberwise initialiser does.
///
/// There is an assembly for a structure all of whose stored properties are fields, each as a whole. A model that was
/// decoded shows both that, and that decoding has put the values in their places and done nothing else: then what is put
/// together is what decoding would have made.
///
/// What is done for every model does not know its type, so that the runtime is not asked for types each time.
final class ModelAssembly {
  private struct Part {
    /// The place of the field among the mapping's.
    let field: Int
    let place: FieldPlace
  }
  private let parts: [Part]
  /// Where the models are that were made: so many, and room for more.
  private var base: UnsafeMutableRawPointer
  private var capacity = 64
  private var count = 0
  private let stride: Int
  /// Moves the models to where there is room for so many.
  private let moved: (_ base: UnsafeMutableRawPointer, _ count: Int, _ capacity: Int) -> UnsafeMutableRawPointer

  /// Lets the models go.
  private let release: (_ base: UnsafeMutableRawPointer, _ count: Int) -> Void

  /// - Returns: `nil` when models of the type cannot be put together.
  init?<Model>(_ binding: BoundMapping<Model>, like model: Model, of values: UnsafeMutablePointer<AttributeValue>) {
    let fields = binding.mapping.fields
    parts = fields.enumerated().compactMap { field, access in
      access.access.place.map { Part(field: field, place: $0) }
    }.sorted { $0.place.offset < $1.place.offset }
    guard parts.count == fields.count, Self.types(of: model) == parts.map(\.place.type),
      parts.allSatisfy({ part in (try? fields[part.field].access.get(model)) == values[part.field] })
    else { return nil }
    stride = MemoryLayout<Model>.stride
    base = UnsafeMutableRawPointer(UnsafeMutablePointer<Model>.allocate(capacity: capacity))
    moved = { base, count, capacity in
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

  /// The types of a structure's stored properties, in their order in memory; `nil` for anything but a structure.
  private static func types<Model>(of model: Model) -> [ObjectIdentifier]? {
    guard !(model is any CustomReflectable) else { return nil }
    let mirror = Mirror(reflecting: model)
    guard mirror.displayStyle == .struct else { return nil }
    return mirror.children.map { ObjectIdentifier(type(of: $0.value)) }
  }

  /// Makes a model of values, which are moved out of where they were.
  ///
  /// - Returns: Whether all of them fit. Otherwise there is no model more than before.
  func add(_ values: UnsafeMutablePointer<AttributeValue>) -> Bool {
    if count == capacity {
      capacity *= 2
      base = moved(base, count, capacity)
    }
    let model = base + count * stride
    for index in parts.indices
    where !parts[index].place.initialize(
      model + parts[index].place.offset, values + parts[index].field)
    {
      undo(index, model, values)
      return false
    }
    count += 1
    return true
  }

  /// Takes a model apart again whose part of that number does not fit.
  private func undo(_ index: Int, _ model: UnsafeMutableRawPointer, _ values: UnsafeMutablePointer<AttributeValue>) {
    for part in parts[..<index] { part.place.deinitialize(model + part.place.offset) }
    for part in parts[(index + 1)...] { (values + part.field).deinitialize(count: 1) }
  }

  /// Takes the models out, behind those that were decoded.
  ///
  /// - Precondition: They are of the type that the assembly was made for.
  func take<Model>(after decoded: [Model]) -> [Model] {
    let models = base.assumingMemoryBound(to: Model.self)
    defer { count = 0 }
    return [Model](unsafeUninitializedCapacity: decoded.count + count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      for (place, model) in decoded.enumerated() { (start + place).initialize(to: model) }
      (start + decoded.count).moveInitialize(from: models, count: count)
      initialized = decoded.count + count
    }
  }
}
