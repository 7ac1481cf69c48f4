import ArgumentParser

/// A period of time: a number and a unit, for example `90s`, `15m`, `12h` or `7d`.
struct Period: ExpressibleByArgument {
  let duration: Duration

  init?(argument: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = argument.last.flatMap({ units[$0] }), let number = Double(argument.dropLast()), number >= 0,
      number * unit < 1e10
    else { return nil }
    duration = .seconds(number * unit)
  }

  var defaultValueDescription: String { "\(Int(duration / .seconds(1)))s" }
}
