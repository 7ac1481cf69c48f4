import CoherenceCore

/// Makes models by putting each field in its place in memory, as a memberwise initialiser does.
///
/// There is an assembly for a structure all of whose stored properties are fields, each as a whole. A model that was
/// decoded shows both that, and that decoding has put the values of its row in their places and done nothing else: then
/// what is put together is what decoding would have made.
final class ModelAssembly<Model: Codable & SendableMetatype> {
  private struct Part {
    let slot: Int
    let offset: Int
    let access: FieldAccess<Model>
    let name: String
  }
  private let parts: [Part]
  private let binding: BoundMapping<Model>
  /// Where a model is put together. Without a model in between.
  private let place = UnsafeMutablePointer<Model>.allocate(capacity: 1)

  /// - Returns: `nil` when models of the type cannot be put together.
  init?(_ binding: BoundMapping<Model>, like model: Model, of row: Row) {
    self.binding = binding
    parts = zip(binding.mapping.fields, binding.slots).compactMap { field, slot in
      field.access.offset.map { Part(slot: slot, offset: $0, access: field.access, name: field.attribute.name) }
    }.sorted { $0.offset < $1.offset }
    guard parts.count == binding.mapping.fields.count, Self.types(of: model) == parts.map(\.access.type),
      parts.allSatisfy({ part in (try? part.access.get(model)) == row[part.slot] })
    else { return nil }
  }

  deinit { place.deallocate() }

  /// The types of a structure's stored properties, in their order in memory; `nil` for anything but a structure.
  private static func types(of model: Model) -> [ObjectIdentifier]? {
    guard !(model is any CustomReflectable) else { return nil }
    let mirror = Mirror(reflecting: model)
    guard mirror.displayStyle == .struct else { return nil }
    return mirror.children.map { ObjectIdentifier(type(of: $0.value)) }
  }

  /// - Throws: ``ErrorCode/modelDoesNotFit``.
  func model(of row: Row) throws -> Model {
    let base = UnsafeMutableRawPointer(place)
    let count = row.withUnsafeValues { values in
      parts.withUnsafeBufferPointer { parts in
        for index in parts.indices
        where !parts[index].access.initialize(base + parts[index].offset, values + parts[index].slot) { return index }
        return parts.count
      }
    }
    guard count == parts.count else {
      for part in parts[..<count] { part.access.deinitialize(base + part.offset) }
      throw binding.misfit(parts[count].name)
    }
    return place.move()
  }
}
