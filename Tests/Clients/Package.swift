// swift-tools-version: 6.2
import PackageDescription

/// One place for the language settings of every target of this package; the same as in the root package.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let coherence = Target.Dependency.product(name: "Coherence", package: "coherence")
let core = Target.Dependency.product(name: "CoherenceCore", package: "coherence")
let modelFiles = Target.Dependency.product(name: "CoherenceModelFiles", package: "coherence")
let modelMacros = Target.Dependency.product(name: "CoherenceModelMacros", package: "coherence")
let identityMap = Target.Dependency.product(name: "CoherenceIdentityMap", package: "coherence")
let macros = Target.Dependency.product(name: "CoherenceMacros", package: "coherence")
let mapping = Target.Dependency.product(name: "CoherenceMapping", package: "coherence")
let outbox = Target.Dependency.product(name: "CoherenceOutbox", package: "coherence")
let refresh = Target.Dependency.product(name: "CoherenceRefresh", package: "coherence")
let persistedActions = Target.Dependency.product(name: "CoherencePersistedActions", package: "coherence")
let postgreSQL = Target.Dependency.product(name: "CoherencePostgreSQL", package: "coherence")
let http = Target.Dependency.product(name: "CoherenceHTTP", package: "coherence")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let conformance = Target.Dependency.product(name: "CoherenceConformance", package: "coherence")

/// A package of its own, so that it sees the public declarations of the products only, like a user's package.
let package = Package(
  name: "coherence-clients",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coherence", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "coherence-example", dependencies: [coherence, modelMacros], path: "Example", swiftSettings: strict),
    .executableTarget(
      name: "coherence-structures", dependencies: [coherence, macros, mapping], path: "Structures",
      swiftSettings: strict),
    .executableTarget(name: "coherence-feed", dependencies: [identityMap], path: "Feed", swiftSettings: strict),
    .executableTarget(
      name: "coherence-library", dependencies: [coherence, modelMacros], path: "Library",
      resources: [.copy("Library.xcdatamodeld")], swiftSettings: strict,
      plugins: [.plugin(name: "CoherenceModelPlugin", package: "coherence")]),
    .executableTarget(
      name: "coherence-script", dependencies: [coherence, modelMacros], path: "Script", swiftSettings: strict),
    .executableTarget(
      name: "coherence-statements", dependencies: [coherence, modelMacros], path: "Statements", swiftSettings: strict),
    .executableTarget(
      name: "coherence-start", dependencies: [coherence, modelFiles], path: "Start",
      resources: [.copy("MyModelName.xcdatamodeld")], swiftSettings: strict),
    // The sockets of the servers in the programs and tests.
    .target(name: "Listener", path: "Listener", swiftSettings: strict),
    .executableTarget(
      name: "coherence-sync", dependencies: ["Listener", coherence, modelMacros, http, httpTypes], path: "Sync",
      swiftSettings: strict),
    // A music library: questions, walks, and a list that follows the changes.
    .target(name: "MusicClient", dependencies: [coherence, modelMacros], path: "Music", swiftSettings: strict),
    .testTarget(
      name: "MusicTests", dependencies: ["MusicClient", coherence, modelMacros, postgreSQL], path: "Tests/Music",
      swiftSettings: strict),
    // An offline client of to-do lists, and its server.
    .target(
      name: "Todo",
      dependencies: ["Listener", coherence, modelMacros, outbox, refresh, persistedActions, http, httpTypes],
      path: "Todo", swiftSettings: strict),
    .testTarget(
      name: "TodoTests",
      dependencies: [
        "Listener", "Todo", coherence, modelMacros, outbox, refresh, persistedActions, postgreSQL, http, httpTypes,
      ],
      path: "Tests/Todo", swiftSettings: strict),
    // The programs of the tutorial: after its second step, and at its end.
    .executableTarget(
      name: "shelf-first", dependencies: [coherence, modelMacros], path: "Tutorial/First/Sources/shelf",
      swiftSettings: strict),
    .executableTarget(
      name: "shelf", dependencies: [coherence, modelMacros, http, httpTypes], path: "Tutorial/Last/Sources/shelf",
      swiftSettings: strict),
    .testTarget(
      name: "ShelfTests", dependencies: ["shelf", coherence, http], path: "Tutorial/Last/Tests/ShelfTests",
      swiftSettings: strict),
    // The program of the article about offline edits.
    .executableTarget(
      name: "chores", dependencies: [coherence, modelMacros, outbox], path: "Offline/Sources/chores",
      swiftSettings: strict),
    .testTarget(
      name: "ChoresTests", dependencies: ["chores", coherence, modelMacros, outbox], path: "Offline/Tests/ChoresTests",
      swiftSettings: strict),
    // The program of the articles for newcomers from other libraries.
    .testTarget(
      name: "MovingTests", dependencies: [coherence, modelMacros], path: "Tests/Moving", swiftSettings: strict),
    .target(name: "Notebook", dependencies: [core], path: "Notebook", swiftSettings: strict),
    .testTarget(
      name: "NotebookTests", dependencies: ["Notebook", core, conformance], path: "Tests/Notebook",
      swiftSettings: strict),
    // The code of the articles in the documentation catalogs, as it stands there.
    .testTarget(
      name: "GuideTests",
      dependencies: [
        "Notebook", coherence, core, modelMacros, identityMap, mapping, outbox, postgreSQL, http, httpTypes,
        conformance,
      ],
      path: "Tests/Guide", swiftSettings: strict),
    .testTarget(
      name: "IdentityMapClientTests", dependencies: [identityMap], path: "Tests/IdentityMap", swiftSettings: strict),
    // Swift 5 mode, for code from another library without annotations of sendability.
    .target(
      name: "Newcomer", dependencies: [coherence, mapping], path: "Newcomer",
      swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
    .testTarget(
      name: "MappingClientTests", dependencies: ["Newcomer", coherence, mapping], path: "Tests/Mapping",
      swiftSettings: strict),
    .testTarget(
      name: "ClientTests",
      dependencies: [
        "chores", "coherence-example", "coherence-feed", "coherence-library", "coherence-script", "coherence-start",
        "coherence-statements", "coherence-structures", "coherence-sync", "shelf", "shelf-first", "Listener", coherence,
        modelMacros,
      ],
      path: "Tests/Client", swiftSettings: strict),
  ]
)
