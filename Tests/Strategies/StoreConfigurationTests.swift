import CoherenceCore
import Foundation
import Testing
import TestSupport

@Suite("Store configurations")
struct StoreConfigurationTests {
  @Test func `a configuration made with no arguments has the defaults`() {
    let configuration = StoreConfiguration()
    #expect(configuration.fileName == nil)
    #expect(configuration.name == nil)
    #expect(configuration.type == "SQLite")
    #expect(!configuration.overwriteIncompatibleStore)
    #expect(
      configuration.options == [StoreOption.migrateAutomatically: true, StoreOption.inferMapping: true])
  }

  @Test func `the arguments override the defaults`() {
    let configuration = Self.full
    #expect(configuration.fileName == "FileName")
    #expect(configuration.name == "configuration")
    #expect(configuration.type == "Binary")
    #expect(configuration.overwriteIncompatibleStore)
    #expect(configuration.options.isEmpty)
  }

  @Test func `the description of a configuration contains its fields`() {
    #expect("\(StoreConfiguration())" == "<StoreConfiguration> (type: SQLite)")
    #expect(
      "\(Self.full)" == "<StoreConfiguration> (fileName: 'FileName', name: 'configuration', type: Binary)")
  }

  @Test func `configurations with equal fields are equal`() {
    #expect(Self.full == Self.full)
    #expect(Set([Self.full, Self.full]).count == 1)
  }

  @Test(
    "configurations that differ in one field differ",
    arguments: [
      StoreConfiguration(
        fileName: "Other", name: "configuration", type: "Binary", overwriteIncompatibleStore: true, options: [:]),
      StoreConfiguration(
        fileName: "FileName", name: "other", type: "Binary", overwriteIncompatibleStore: true, options: [:]),
      StoreConfiguration(
        fileName: "FileName", name: "configuration", type: "SQLite", overwriteIncompatibleStore: true, options: [:]),
      StoreConfiguration(
        fileName: "FileName", name: "configuration", type: "Binary", overwriteIncompatibleStore: false, options: [:]),
      StoreConfiguration(
        fileName: "FileName", name: "configuration", type: "Binary", overwriteIncompatibleStore: true,
        options: ["option": 1]),
    ])
  func differs(other: StoreConfiguration) {
    #expect(Self.full != other)
  }

  private static let full = StoreConfiguration(
    fileName: "FileName", name: "configuration", type: "Binary", overwriteIncompatibleStore: true, options: [:])
}

@Suite("Locations of stores")
struct StoreLocationTests {
  private let directory = URL(fileURLWithPath: "/test/path", isDirectory: true)

  private func path(_ configuration: StoreConfiguration, usesFiles: Bool = true) -> String? {
    configuration.resolveURL(
      defaultStorePrefix: "DefaultPrefix", storeLocation: directory, usesFiles: usesFiles)?.path
  }

  @Test func `a store without files has no URL, even with a file name`() {
    #expect(path(StoreConfiguration(type: "InMemory"), usesFiles: false) == nil)
    #expect(path(StoreConfiguration(fileName: "TestFile.ext", type: "InMemory"), usesFiles: false) == nil)
  }

  @Test func `the file is named after prefix, configuration and type`() {
    #expect(path(StoreConfiguration()) == "/test/path/DefaultPrefix.sqlite")
    #expect(path(StoreConfiguration(name: "Configuration")) == "/test/path/DefaultPrefix.configuration.sqlite")
  }

  @Test func `a given file name is used without changes`() {
    #expect(path(StoreConfiguration(fileName: "TestFile.ext", name: "name")) == "/test/path/TestFile.ext")
  }

  /// Names that a program may have from its users.
  private static let foreignNames = [
    "../other", "..", ".", "a/b", "/etc/passwd", "../\u{301}x", "a\0b", "a%2Fb", "a%252Fb", "a%00b", "%2E%2E", "100%",
  ]

  @Test("a given file name of any origin is a file in the directory", arguments: Self.foreignNames)
  func staysInDirectory(name: String) throws {
    let location = try #require(path(StoreConfiguration(fileName: name)))
    let file = URL(fileURLWithPath: location, isDirectory: false).standardizedFileURL
    #expect(file.deletingLastPathComponent().path == "/test/path", "\(location)")
    #expect(!location.utf8.contains(0))
  }

  @Test func `different file names are different files`() {
    let paths = Self.foreignNames.compactMap { path(StoreConfiguration(fileName: $0)) }
    #expect(Set(paths).count == Self.foreignNames.count, "\(paths)")
    #expect(path(StoreConfiguration(fileName: "100%")) == "/test/path/100%")
  }

  @Test func `an empty file name is no name`() {
    #expect(path(StoreConfiguration(fileName: "")) == "/test/path/DefaultPrefix.sqlite")
  }

  @Test("a slash before a combining mark leads no composed name out of the directory")
  func composedNameStaysInDirectory() {
    let url = StoreConfiguration.storeURL(
      prefix: "../\u{301}x", configuration: nil, type: StoreType("SQLite"), location: directory)
    #expect(url.standardizedFileURL.deletingLastPathComponent().path == "/test/path", "\(url.path)")
  }

  @Test(
    "the name of a file keeps the case of the prefix only",
    arguments: [
      (nil, "SQLite", "Test.sqlite"), ("Configuration", "SQLite", "Test.configuration.sqlite"),
      (nil, "Binary", "Test.binary"),
    ] as [(String?, String, String)])
  func fileName(configuration: String?, type: String, expected: String) {
    let url = StoreConfiguration.storeURL(
      prefix: "Test", configuration: configuration, type: StoreType(type), location: directory)
    #expect(url.lastPathComponent == expected)
  }

  @Test func `a location wins over the directory, and a location of another scheme is used without changes`() throws {
    let server = try #require(URL(string: "postgresql://host/database"))
    #expect(
      StoreConfiguration(fileName: "ignored", type: "PostgreSQL", location: server)
        .resolveURL(defaultStorePrefix: "P", storeLocation: directory, usesFiles: false) == server)
    let file = URL(fileURLWithPath: "/elsewhere/file.db")
    #expect(path(StoreConfiguration(location: file)) == "/elsewhere/file.db")
  }
}
