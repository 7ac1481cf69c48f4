public import CoherenceCore
public import Foundation

extension ManagedObjectModel {
  /// Builds a model from an `.xcdatamodeld` or `.xcdatamodel` package.
  ///
  /// Build each model once: models live as long as the process.
  ///
  /// - Parameters:
  ///   - url: The package; the current version of an `.xcdatamodeld` package is taken.
  ///   - classes: The classes of the entities; those that the program registered by default.
  /// - Throws: ``/CoherenceCore/ErrorCode/modelNotFound`` for a missing file;
  ///   ``/CoherenceCore/ErrorCode/invalidModel``, naming every fault.
  public convenience init(contentsOf url: URL, classes: EntityClasses = .registered) throws {
    try self.init(file: try ModelFile(contentsOf: url), classes: classes)
  }

  /// Builds a model from the package `<name>.xcdatamodeld` or `<name>.xcdatamodel` among the resources of a bundle.
  ///
  /// ```swift
  /// let model = try ManagedObjectModel(named: "Music", in: .module)
  /// ```
  ///
  /// A container or a Connect needs no such call: `init(name:)` finds the package by the name.
  ///
  /// - Parameters:
  ///   - name: The name of the package, without the extension.
  ///   - bundle: The bundle; `nil` for the resources of the program: directly in the main bundle, in the resource
  ///     bundles beside it, and in the same places of the loaded bundles. The first place with the package counts.
  ///   - classes: The classes of the entities; those that the program registered by default.
  /// - Throws: As ``init(contentsOf:classes:)``; ``/CoherenceCore/ErrorCode/invalidModel`` when the resources have
  ///   several different packages of the name.
  public convenience init(named name: String, in bundle: Bundle? = nil, classes: EntityClasses = .registered) throws {
    let search = ModelSearch(name: name)
    guard let url = try bundle.map(search.package(in:)) ?? search.packageOfProgram() else {
      let location = bundle.map { "the bundle '\($0.bundleURL.path)'" } ?? "the program's resources"
      throw CoherenceError(
        .modelNotFound,
        "No file '\(name).xcdatamodeld' or '\(name).xcdatamodel' is in \(location). "
          + "In the manifest of a Swift package, give the file the resource rule copy.")
    }
    try self.init(contentsOf: url, classes: classes)
  }
}

/// Linking this module is enough: containers, and every other use of `ManagedObjectModel.named(_:)`, find the files of
/// models by name.
extension LinkedModelFiles: ModelLocating {
  package static func model(named name: String) throws -> ManagedObjectModel? {
    guard let url = try ModelSearch(name: name).packageOfProgram() else { return nil }
    return try ManagedObjectModel(contentsOf: url)
  }
}
