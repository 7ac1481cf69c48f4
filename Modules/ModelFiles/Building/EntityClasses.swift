public import CoherenceCore

/// The classes that the entities of a model file get.
///
/// ```swift
/// try file.model(classes: [Track.self, Album.self])
/// ```
public struct EntityClasses: Sendable, ExpressibleByArrayLiteral {
  private enum Source: Sendable {
    case registry
    case list([ManagedObject.Type])
    case generic
  }
  private let source: Source

  private init(_ source: Source) { self.source = source }

  /// The classes that the program registered; see ``/CoherenceCore/ManagedObjectClasses``.
  public static let registered = EntityClasses(.registry)

  /// `ManagedObject` for every entity, in place of the classes of the file: for programs that read and write values by
  /// the names of properties.
  public static let generic = EntityClasses(.generic)

  /// The given classes, found by their names. The registry is not used.
  public init(_ classes: [ManagedObject.Type]) { source = .list(classes) }

  public init(arrayLiteral elements: ManagedObject.Type...) { self.init(elements) }

  /// The class of an entity.
  ///
  /// - Returns: The class, or the rest of a sentence that begins with the entity.
  func objectClass(of entity: ModelFile.Entity) -> Result<ManagedObject.Type, ClassFault> {
    guard let written = entity.className, written != "NSManagedObject", written != "ManagedObject" else {
      return .success(ManagedObject.self)
    }
    if case .generic = source { return .success(ManagedObject.self) }
    let name = written.hasPrefix(".") ? String(written.dropFirst()) : written
    let short = name.split(separator: ".").last.map(String.init) ?? name
    var found = classes(named: name)
    // The module of the framework's classes need not be the module of the Core Data classes.
    if found.isEmpty { found = classes(named: short) }
    if found.count == 1 { return Self.checked(found[0], for: entity) }
    guard found.isEmpty else {
      let names = found.map { String(reflecting: $0) }.sorted().joined(separator: ", ")
      return .failure(
        ClassFault("has the class '\(name)', which several classes are named: \(names); write the module"))
    }
    if case .list = source {
      return .failure(ClassFault("has the class '\(name)', which is not in 'classes'; add \(short).self"))
    }
    return .failure(
      ClassFault(
        "has the class '\(name)', which is not registered; call ManagedObjectClasses.register(\(short).self) "
          + "before the model is read, or read it with 'classes: .generic'"))
  }

  /// The class, unless its declaration is about another entity.
  private static func checked(
    _ objectClass: ManagedObject.Type, for entity: ModelFile.Entity
  ) -> Result<ManagedObject.Type, ClassFault> {
    guard let declared = (objectClass as? any DeclaredEntity.Type)?.entityName, declared != entity.name else {
      return .success(objectClass)
    }
    return .failure(
      ClassFault("has the class '\(objectClass)', which declares the entity '\(declared)'; name another class"))
  }

  private func classes(named name: String) -> [ManagedObject.Type] {
    switch source {
    case .registry: ManagedObjectClasses.classes(named: name)
    case .list(let classes): classes.filter { ManagedObjectClasses.names(of: $0).contains(name) }
    case .generic: []
    }
  }

  /// The reason why an entity has no class: the rest of a sentence that begins with the entity.
  struct ClassFault: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }
}
