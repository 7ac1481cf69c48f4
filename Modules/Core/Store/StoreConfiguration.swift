public import Foundation

/// A description of a store to attach: its type, its location, and the model configuration that it holds.
public struct StoreConfiguration: Sendable, Hashable {
  /// The name of the store's file; `nil` or empty for a name composed of the names of the container, the configuration
  /// and the type.
  ///
  /// A name of any origin stays in the directory of the store: a slash, U+0000, and the names `.` and `..` are
  /// percent-encoded. Different names are different files, except on a file system that ignores case or the form of
  /// letters with accents. A store in a subdirectory needs a ``location``.
  public var fileName: String?
  /// The name of the *model configuration* whose entities the store holds; `nil` for all entities. For a name that the
  /// model does not have, the store holds no entities, and the log has a warning.
  public var name: String?
  /// The type of the store, `SQLite` by default.
  public var type: StoreType
  /// Whether a store that no program has opened with the model, or a damaged store, is moved aside and replaced by an
  /// empty store. Takes precedence over migration.
  public var overwriteIncompatibleStore: Bool
  /// The options of the store by name: see ``StoreOption`` and the options of the backend.
  public var options: [String: OptionValue]
  /// The location of the store, in place of a directory and a file name. A URL whose scheme is not `file` is passed to
  /// the store unchanged.
  public var location: URL?

  /// Makes a configuration. Without arguments, it describes a SQLite store of all entities in a file.
  public init(
    fileName: String? = Default.fileName, name: String? = Default.name, type: StoreType = Default.type,
    overwriteIncompatibleStore: Bool = Default.overwriteIncompatibleStore,
    options: [String: OptionValue] = Default.options, location: URL? = nil
  ) {
    self.fileName = fileName
    self.name = name
    self.type = type
    self.overwriteIncompatibleStore = overwriteIncompatibleStore
    self.options = options
    self.location = location
  }

  /// The values of a configuration made without arguments.
  public enum Default {
    /// The name is composed of the names of the container, the configuration and the type.
    public static let fileName: String? = nil
    /// All entities of the model.
    public static let name: String? = nil
    /// A SQLite file.
    public static let type: StoreType = "SQLite"
    /// An incompatible store is kept, and attaching throws.
    public static let overwriteIncompatibleStore = false
    /// The store is migrated to the model when it is attached.
    public static let options: [String: OptionValue] = [
      StoreOption.migrateAutomatically: true, StoreOption.inferMapping: true,
    ]
  }

  /// Returns the URL of the store for a directory and a prefix, which is the container's name; `nil` for a type without
  /// files if no location is given.
  public func resolveURL(defaultStorePrefix prefix: String, storeLocation directory: URL, usesFiles: Bool) -> URL? {
    if let location {
      guard location.isFileURL, location.hasDirectoryPath else { return location }
      return resolveURL(in: location, prefix: prefix)
    }
    return usesFiles ? resolveURL(in: directory, prefix: prefix) : nil
  }

  private func resolveURL(in directory: URL, prefix: String) -> URL {
    if let fileName, !fileName.isEmpty {
      return directory.appendingPathComponent(fileName.asFileName, isDirectory: false)
    }
    return Self.storeURL(prefix: prefix, configuration: name, type: type, location: directory)
  }

  /// Returns the default URL of a store in a directory: `location/<prefix>[.<configuration in lower case>].<type in
  /// lower case>`. Characters invalid in a file name are percent-encoded, so that no name leads out of the directory.
  public static func storeURL(prefix: String, configuration: String?, type: StoreType, location: URL) -> URL {
    let parts = [prefix, configuration?.lowercased(), type.name.lowercased()].compactMap { $0 }
    return location.appendingPathComponent(parts.joined(separator: ".").asFileName, isDirectory: false)
  }
}

extension String {
  /// The codes that ``asFileName`` writes after a percent sign.
  private static let escapes = ["2F", "00", "25", "2E"]

  /// The text as the name of one file, a different name for each text: a slash, U+0000, and the names `.` and `..` are
  /// percent-encoded, and so is a percent sign that begins such an escape.
  fileprivate var asFileName: String {
    if self == "." || self == ".." { return String(repeating: "%2E", count: utf8.count) }
    // By bytes and not by characters: a combining mark joins the slash before it to one character.
    let bytes = Array(utf8)
    var name: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "/"): name += "%2F".utf8
      case 0: name += "%00".utf8
      case UInt8(ascii: "%") where Self.escapes.contains(where: { bytes[(index + 1)...].starts(with: $0.utf8) }):
        name += "%25".utf8
      default: name.append(byte)
      }
    }
    return String(decoding: name, as: UTF8.self)
  }
}

extension StoreConfiguration: CustomStringConvertible {
  /// The file name, the configuration and the type, without options and location.
  public var description: String {
    var parts: [String] = []
    if let fileName { parts.append("fileName: '\(fileName)'") }
    if let name { parts.append("name: '\(name)'") }
    parts.append("type: \(type)")
    return "<StoreConfiguration> (\(parts.joined(separator: ", ")))"
  }
}

extension StoreConfiguration: CustomReflectable {
  /// The properties without the values of options, and without possible secrets in the location.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "fileName": fileName as Any, "name": name as Any, "type": type,
        "overwriteIncompatibleStore": overwriteIncompatibleStore, "options": options.keys.sorted(),
        "location": location?.withoutSecrets as Any,
      ], displayStyle: .struct)
  }
}

extension URL {
  /// The URL for descriptions, without user, password and query, which may contain secrets.
  var withoutSecrets: String {
    if isFileURL { return path }
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return "…" }
    (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
    return parts.string ?? "…"
  }
}

/// The names of the options common to all stores. Backends declare their own option names.
public enum StoreOption {
  /// Whether a store whose schema lacks entities or properties of the model is extended when it is attached. A `bool`,
  /// `true` by default.
  public static let migrateAutomatically = "migrateAutomatically"
  /// Accepted for users of Core Data, without effect: migration always infers its steps. A `bool`.
  public static let inferMapping = "inferMapping"
  /// Whether a migration may drop values and records that the model cannot keep. A `bool`, `false` by default:
  /// attaching then fails with ``ErrorCode/incompatibleModel``, and the error lists the losses in
  /// ``CoherenceError/dataLosses``. With the option, a store in a file is first copied beside the file, and a warning
  /// is logged.
  ///
  /// The dropped values and records are lost for every program that uses the store. If a later version of the program
  /// has written the store, update the program and leave the option out.
  ///
  /// Columns and tables outside of the model stay in the store, with and without the option.
  public static let allowsDataLoss = "allowsDataLoss"
  /// Whether the store is attached without the key constraints that it does not have yet. A `bool`, `false` by default:
  /// attaching a store with several records of one key then fails with ``ErrorCode/duplicateKeys``, and the error lists
  /// the keys' constraints in ``CoherenceError/duplicateKeys``.
  ///
  /// To repair such a store, attach it with the option, merge the records of each key into one, detach it, and attach
  /// it without the option, which adds the constraint.
  ///
  /// ```swift
  /// var configuration = StoreConfiguration()
  /// configuration.options[StoreOption.allowsDuplicateKeys] = true
  /// let store = try container.attachPersistentStore(for: configuration)
  /// try await container.performBackgroundTask { context in
  ///   try context.mergeDuplicates(of: "Person")
  ///   try context.save()
  /// }
  /// try container.detach(persistentStore: store)
  /// try container.attachPersistentStore()
  /// ```
  ///
  /// Constraints that the store already has stay, and declared constraints are always enforced. See
  /// ``EntityDescription/keySetting`` and ``ManagedObjectContext/mergeDuplicates(of:keeping:)``.
  public static let allowsDuplicateKeys = "allowsDuplicateKeys"
  /// Whether attaching fails if the model seems to rename an attribute without declaring the rename: the model lacks an
  /// attribute with stored values, and adds an attribute of the same type to the same entity. A `bool`, `false` by
  /// default: a warning with the numbers of values is logged. With the option, attaching fails with
  /// ``ErrorCode/incompatibleModel`` and changes nothing.
  ///
  /// In both cases the values stay in the store. ``Attribute/formerNames`` declares a rename, also after the warning:
  /// the attribute gets the values of its former name unless it has values already.
  public static let refusesSuspectedRenames = "refusesSuspectedRenames"
  /// Whether the model is only a part of the store's model, as in a tool for some entities of an application's store. A
  /// `bool`, `false` by default.
  ///
  /// Attaching then changes nothing in the store: no schema, no index, and no entry in ``StoreMetadata/models``, so
  /// that the application's own model remains the last entry. The store must exist, and must have every entity of the
  /// model as declared by the model. Otherwise attaching fails with ``ErrorCode/notADatabase`` or
  /// ``ErrorCode/incompatibleModel``. Records of the model's entities can be fetched and saved.
  ///
  /// The SQLite and PostgreSQL stores support the option. A store in memory supports it for a content that another
  /// store has open.
  public static let partialModel = "partialModel"
  /// Whether the store is opened for reading only. A `bool`, `false` by default.
  public static let readOnly = "readOnly"

  /// The names of all options common to all stores.
  static let all = [
    migrateAutomatically, inferMapping, allowsDataLoss, allowsDuplicateKeys, refusesSuspectedRenames, partialModel,
    readOnly,
  ]
}

/// The value of a store option, which can be written as a literal.
public enum OptionValue: Sendable, Hashable {
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
}

extension OptionValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral
{
  /// Makes a `bool`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Makes an `int`.
  public init(integerLiteral value: Int) { self = .int(value) }
  /// Makes a `double`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Makes a `string`.
  public init(stringLiteral value: String) { self = .string(value) }
}
